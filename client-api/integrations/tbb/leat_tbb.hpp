// SPDX-License-Identifier: Apache-2.0
// For simulations on oneTBB: analyses with runs="dynamic" are done by the simulation's own workers while it has nothing for them.
// Header only, compiled with the oneTBB of the simulation. Include it in one source at least, and write
//
//     leat::parallel([&] { step(); });      // all that is parallel by oneTBB
//
// instead of step(). The schedule is the XML's: without one, or without Leat, leat::parallel uses all cores, as oneTBB does.
// C++17.
//
// Arenas of their own for the simulation and for the analyses, into which each piece is enqueued by itself, so that a worker is asked
// after each of them where it is needed most. With "dynamic" they come last, until another iteration waits for them: then half
// of the workers are theirs first.
//
//   runs             simulation                    analyses
//   static           all cores but `cores`         Leat's own threads on `cores` cores
//   dynamic          all cores, normal priority    all workers, low priority; when late, half of them, high priority
//
// leat_init and leat_finalize are called outside of leat::parallel.
#pragma once

#include <leat_build.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

namespace leat {
namespace detail {

// Some pieces, each done once by whoever claims it first, until the last one has been done.
class TbbJob {
 public:
  using Piece = int (*)(void* arg, std::uint64_t number);
  TbbJob(std::uint64_t pieces, Piece piece, void* arg)
      : pieces_(pieces), left_(pieces), piece_(piece), arg_(arg) {}

  void do_one() {
    const std::uint64_t number = claimed_.fetch_add(1, std::memory_order_relaxed);
    if (number >= pieces_) return;
    if (!has_failed_.load(std::memory_order_relaxed) && piece_(arg_, number) != 0)
      has_failed_.store(true, std::memory_order_relaxed);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--left_ == 0) ended_.notify_all();
  }
  std::uint64_t unclaimed() const {
    return pieces_ - std::min(pieces_, claimed_.load(std::memory_order_relaxed));
  }
  // False: not in this time.
  bool await(std::chrono::milliseconds limit) {
    std::unique_lock<std::mutex> lock(mutex_);
    return ended_.wait_for(lock, limit, [this] { return left_ == 0; });
  }
  void await() {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::atomic<std::uint64_t> claimed_{0};
  const std::uint64_t pieces_;
  std::uint64_t left_;
  Piece piece_;
  void* arg_;
  std::atomic<bool> has_failed_{false};
};

class TbbArenas {
 public:
  using Arena = oneapi::tbb::task_arena;
  using Priority = Arena::priority;

  // Never destroyed: threads of Leat and of oneTBB may outlive all that is static.
  static TbbArenas& all() {
    static TbbArenas* const own = new TbbArenas;
    return *own;
  }

  std::shared_ptr<Arena> simulation() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return simulation_;
  }
  std::shared_ptr<Arena> analyses() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return analyses_;
  }
  // Null: what is late is done where the rest is.
  std::shared_ptr<Arena> late_analyses() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return late_;
  }

  int start(const char* schedule, int cores) {
    const int most = oneapi::tbb::info::default_concurrency();
    const int workers = std::max(1, most - 1);  // of oneTBB: the simulation's main thread is none
    const auto is = [schedule](const char* word) { return std::strcmp(schedule, word) == 0; };
    if (is("static")) return use(std::max(1, most - cores), workers, Priority::low);
    if (is("dynamic")) return use(most, workers, Priority::low, (workers + 1) / 2);
    return 1;
  }

 private:
  TbbArenas() { use(Arena::automatic, 1, Priority::low); }

  int use(int simulation, int analyses, Priority theirs, int late = 0) {
    const std::lock_guard<std::mutex> lock(mutex_);
    simulation_ = std::make_shared<Arena>(simulation, 1, Priority::normal);
    analyses_ = std::make_shared<Arena>(analyses, 0, theirs);
    late_ = late > 0 ? std::make_shared<Arena>(late, 0, Priority::high) : nullptr;
    return 0;
  }

  std::mutex mutex_;
  std::shared_ptr<Arena> simulation_, analyses_, late_;
};

inline int start_tbb(void*, const char* schedule, int cores) {
  return TbbArenas::all().start(schedule, cores);
}

inline void run_in_tbb(void*, std::uint64_t pieces, TbbJob::Piece piece, int (*is_late)(void*),
                       void* arg) {
  const auto job =
      std::make_shared<TbbJob>(pieces, piece, arg);  // of tasks that find nothing left too
  const auto enqueue = [&job](TbbArenas::Arena& arena) {
    for (std::uint64_t i = job->unclaimed(); i > 0; --i) arena.enqueue([job] { job->do_one(); });
  };
  enqueue(*TbbArenas::all().analyses());
  if (const auto late = TbbArenas::all().late_analyses()) {
    while (!is_late(arg))
      if (job->await(std::chrono::milliseconds(1))) return;
    enqueue(*late);
  }
  job->await();
}

inline leat_status set_tbb_executor() {
  leat_executor executor{};
  executor.size = sizeof executor;
  executor.start = start_tbb;
  executor.run = run_in_tbb;
  return leat_set_executor(&executor);
}

inline const leat_status kTbbExecutorIsSet = set_tbb_executor();

}  // namespace detail

/// Does `work` in the simulation's arena, and returns what it returns.
template <class Work>
decltype(auto) parallel(Work&& work) {
  const std::shared_ptr<detail::TbbArenas::Arena> arena = detail::TbbArenas::all().simulation();
  return arena->execute(std::forward<Work>(work));
}

}  // namespace leat
