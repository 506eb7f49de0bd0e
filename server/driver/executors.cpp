// SPDX-License-Identifier: Apache-2.0
#include "server/driver/executors.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/words.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"

namespace leat::server {

// The kernel's numbers of threads. One that has ended gives its number to others.
class ThreadExecutor::AtWork {
 public:
  void begin() {
    const std::lock_guard<std::mutex> lock(mutex_);
    threads_.insert(gettid());
  }
  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    threads_.erase(gettid());
  }
  void bind(const os::CpuSet& cpus) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const int each : threads_) os::set_affinity(cpus, each);
  }

 private:
  std::mutex mutex_;
  std::set<int> threads_;
};

ThreadExecutor::ThreadExecutor() : at_work_(std::make_shared<AtWork>()) {}
ThreadExecutor::~ThreadExecutor() = default;

std::jthread ThreadExecutor::run(const char* name, Urgency urgency, std::function<void()> work) {
  return std::jthread([name, urgency, at_work = at_work_, work = std::move(work)] {
    os::name_thread(name);
    if (urgency == Urgency::behind_others) os::go_behind_others();
    if (urgency == Urgency::background) os::run_in_background();
    at_work->begin();
    work();
    at_work->end();
  });
}

void ThreadExecutor::bind(const os::CpuSet& cpus) { at_work_->bind(cpus); }

namespace {

// What the C interface carries through as one pointer.
struct PiecesInHand {
  const PieceRunner::Piece& piece;
  const PieceRunner::IsLate& is_late;
  std::mutex mutex{};
  std::string error{};

  static int call(void* self, std::uint64_t number) noexcept {
    auto& own = *static_cast<PiecesInHand*>(self);
    std::string error = own.piece(number);
    if (error.empty()) return 0;
    const std::lock_guard<std::mutex> lock(own.mutex);
    if (own.error.empty()) own.error = std::move(error);
    return 1;
  }
  static int others_wait(void* self) noexcept {
    return static_cast<const PiecesInHand*>(self)->is_late() ? 1 : 0;
  }
};

class SimulationCrew final : public PieceRunner {
 public:
  SimulationCrew(const leat_server_pieces& executor, std::string schedule, std::shared_ptr<Log> log)
      : executor_(executor), schedule_(std::move(schedule)), log_(std::move(log)) {}
  ~SimulationCrew() override {
    log_->info(
        "runs=\"{}\": {} took {:.3f} s of the simulation's threads; the longest {:.3f} ms, after "
        "which a thread is the simulation's again",
        schedule_, counted(pieces_, "piece"), static_cast<double>(ns_) / 1e9,
        static_cast<double>(longest_ns_) / 1e6);
  }

  std::string run(std::uint64_t pieces, const Piece& piece, const IsLate& is_late) override {
    const Piece timed = [this, &piece](std::uint64_t number) {
      const std::int64_t begun_ns = os::now_ns();
      std::string error = piece(number);
      note(os::now_ns() - begun_ns);
      return error;
    };
    PiecesInHand in_hand{timed, is_late};
    if (pieces > 0)
      executor_.run(executor_.context, pieces, PiecesInHand::call, PiecesInHand::others_wait,
                    &in_hand);
    return std::move(in_hand.error);
  }

 private:
  void note(std::int64_t ns) noexcept {
    ++pieces_;
    ns_ += ns;
    for (std::int64_t longest = longest_ns_; ns > longest;) {
      if (longest_ns_.compare_exchange_weak(longest, ns)) return;
    }
  }

  leat_server_pieces executor_;
  std::string schedule_;
  std::shared_ptr<Log> log_;
  std::atomic<std::uint64_t> pieces_{0};
  std::atomic<std::int64_t> ns_{0}, longest_ns_{0};
};

Error not_lent(const model::Store& store, const std::string& why) {
  return Error{Status::ERROR_CONFIG,
               model::Diagnostic{model::Severity::error, store.where,
                                 "store \"" + store.name + "\" has runs=\"" +
                                     model::word_of(store.runs) + "\", " + why}
                   .str()};
}

}  // namespace

Result<std::unique_ptr<PieceRunner>> crew_of_simulation(const model::Model& model,
                                                        const std::vector<LoadedPlugin>& plugins,
                                                        const leat_server_pieces& executor,
                                                        const std::shared_ptr<Log>& log) {
  const auto store =
      std::find_if(model.stores.begin(), model.stores.end(),
                   [](const model::Store& each) { return model::is_of_simulation(each.runs); });
  if (store == model.stores.end()) return std::unique_ptr<PieceRunner>();
  const bool are_lent = store->runs != model::Schedule::static_;
  if (!executor.run) {
    if (!are_lent) return std::unique_ptr<PieceRunner>();
    return not_lent(
        *store,
        "and nobody in this program lends threads: one on oneTBB includes leat_tbb.hpp, "
        "others call leat_set_executor; runs=\"static\" needs none");
  }
  for (std::size_t i = 0; are_lent && i < plugins.size(); ++i) {
    if (model.stores[i].runs == store->runs && !plugins[i].plugin()->begin)
      return not_lent(model.stores[i],
                      "and its plugin does not work in pieces (begin, chunk, finish), which that "
                      "wants; with \"static\" or \"server\" it works as it is");
  }
  const char* const schedule = model::word_of(store->runs);
  const auto cores = static_cast<int>(model.architecture.dedicated_cores);
  if (executor.start(executor.context, schedule, cores) != 0)
    return not_lent(*store, "which the library that lends this program's threads does not know");
  if (!are_lent) return std::unique_ptr<PieceRunner>();
  return std::unique_ptr<PieceRunner>(new SimulationCrew(executor, schedule, log));
}

}  // namespace leat::server
