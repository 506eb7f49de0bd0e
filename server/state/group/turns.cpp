// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/turns.hpp"

#include <algorithm>
#include <chrono>
#include <variant>

#include "lib/os/clock.hpp"

namespace leat::server {
namespace {

constexpr std::chrono::milliseconds kLook(20);
// A writer is slow that takes so many times as long as others do, and at least so long.
constexpr std::int64_t kSlowFactor = 4, kLeastSlowNs = 1'000'000'000;

std::vector<std::int64_t> most_writers(const model::Model& model) {
  std::vector<std::int64_t> most;
  for (const model::Store& each : model.stores) most.push_back(each.max_writers);
  return most;
}

bool takes_turns(const model::Store& store) {
  return store.max_writers > 0 || asks_for_turns(store);
}

}  // namespace

bool asks_for_turns(const model::Store& store) {
  return std::any_of(store.options.begin(), store.options.end(), [](const model::Option& each) {
    return each.name == "files" && each.value != "node";
  });
}

Turns::Turns(const Run& run, RunRounds& rounds, std::function<void()> wake)
    : run_(run), rounds_(rounds), wake_(std::move(wake)), queue_(most_writers(run.model)) {
  const auto& stores = run.model.stores;
  is_used_ = !run.facts.has_all_ranks() && !run.facts.drained &&
             std::any_of(stores.begin(), stores.end(), takes_turns);
  has_news_ = is_used_ && run.facts.resumed;  // what the server before this one wanted is over
}

// ---- the engine ----

void Turns::look_who_is_there() {
  if (!is_used_ || !rounds_.has_begun()) return;
  if (!std::exchange(has_joined_, true)) join();
  comm::RankSet gone = rounds_.dead() + rounds_.left();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (rounds_.is_alone()) {
    why_alone_ = rounds_.why_alone();
    gone = comm::RankSet(0, size_ - 1) - comm::RankSet(self_);
  }
  if (gone == gone_) return;
  gone_ = std::move(gone);
  changed_ns_ = os::now_ns();
  queue_.look(gone_, changed_ns_);
  changed_.notify_all();
}

// In the channels of the others it says nothing.
void Turns::join() {
  const comm::Rank self = rounds_.self(), size = rounds_.size();
  for (comm::Rank each = 0; each < size; ++each) {
    const std::uint64_t channel = channel::turns + static_cast<std::uint64_t>(each);
    rounds_.listen(
        channel, {.outcome = [this, each](const comm::Outcome& outcome) { hear(each, outcome); }});
    if (each != self) rounds_.end(channel);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  self_ = self;
  size_ = size;
  for (comm::Rank each = 0; each < size; ++each) names_.push_back(rounds_.name_of(each));
  changed_.notify_all();
}

// The clock of a server that takes over is that of the one before it, so numbers grow.
void Turns::advance() {
  if (!has_news() || !has_joined_) return;
  comm::Gathered all;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    has_news_.store(false, std::memory_order_relaxed);
    all.parts[self_] = text_of(wishes_);
  }
  said_ = std::max(said_ + 1, os::now_ns());
  rounds_.contribute({channel::turns + static_cast<std::uint64_t>(rounds_.self()), said_},
                     {std::move(all)});
}

void Turns::hear(comm::Rank server, const comm::Outcome& outcome) {
  if (outcome.columns.size() != 1) return;
  const auto* const all = std::get_if<comm::Gathered>(&outcome.columns[0]);
  const auto said = all ? all->parts.find(server) : decltype(all->parts.end())();
  if (!all || said == all->parts.end()) return;
  const std::optional<std::vector<TurnWish>> wishes = wishes_in(said->second);
  if (!wishes) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  queue_.says(server, *wishes);
  changed_ns_ = os::now_ns();
  queue_.look(gone_, changed_ns_);
  if (!wishes_.empty()) run_.made_progress();
  changed_.notify_all();
}

// ---- stores ----

void Turns::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

TurnWish Turns::new_wish(std::uint32_t store, std::int32_t file) {
  last_wish_ = std::max(last_wish_ + 1, os::now_ns());
  return {store, last_wish_, file};
}

void Turns::want(const TurnWish& wish) {
  wishes_.push_back(wish);
  has_news_.store(true, std::memory_order_relaxed);
  wake_();
}

void Turns::drop(const TurnWish& wish) {
  std::erase(wishes_, wish);
  has_news_.store(true, std::memory_order_relaxed);
  wake_();
}

void Turns::give_back(const TurnWish& wish) {
  const std::lock_guard<std::mutex> lock(mutex_);
  drop(wish);
}

// Groups of servers that follow each other, and differ by one server at most.
std::int32_t Turns::own_file(std::int32_t files) const {
  if (files == 0 || size_ == 0) return -1;
  return static_cast<std::int32_t>(std::int64_t{self_} * std::min(files, size_) / size_);
}

std::string Turns::why_none() const {
  if (is_stopped_) return "the server ends";
  if (!why_alone_.empty()) return "it goes on without the other servers of the run";
  if (size_ > 0 && gone_.has(self_))
    return "it was silent for too long, and is dead for the others";
  return "";
}

std::string Turns::whom_it_waits_for(const TurnWish& wish) const {
  if (size_ == 0) return "the other servers of the run to be found";
  const auto first = queue_.before(self_, wish);
  return first ? names_[static_cast<std::size_t>(*first)] : "the other servers of the run";
}

// Who is next for a file whose writer is slow goes to a file that is idle.
bool Turns::gives_way(TurnWish* wish, std::int32_t files, std::int64_t now_ns) {
  if (wish->file < 0 || !queue_.is_next(self_, *wish)) return false;
  const auto writer = queue_.writer_of(wish->store, wish->file);
  if (!writer) return false;
  const std::int64_t slow_ns = std::max(kLeastSlowNs, kSlowFactor * queue_.usual_ns(wish->store));
  if (now_ns - writer->since_ns < slow_ns) return false;
  const auto idle = queue_.idle_file(wish->store, std::min(files, size_));
  if (!idle) return false;
  run_.log->info(
      "store \"{}\": {} has written into file {} for {} ms: this server writes into file {}, "
      "which is idle",
      run_.model.stores[wish->store].name, names_[static_cast<std::size_t>(writer->server)],
      wish->file, (now_ns - writer->since_ns) / 1'000'000, *idle);
  std::erase(wishes_, *wish);
  *wish = new_wish(wish->store, *idle);
  want(*wish);
  return true;
}

Turns::Turn Turns::without(const TurnWish& wish, const std::string& why) {
  drop(wish);
  const std::string& store = run_.model.stores[wish.store].name;
  if (told_.insert(store + '\n' + why).second)
    run_.log->warn("store \"{}\" writes without its turn: {}", store, why);
  return {};
}

Turns::Turn Turns::take(std::uint32_t store, std::int32_t files) {
  if (!is_used_) return {};
  std::unique_lock<std::mutex> lock(mutex_);
  const std::int64_t begun_ns = os::now_ns(), limit_ns = run_.timeout_ns() / 2;
  while (size_ == 0 && why_none().empty() && os::now_ns() - begun_ns < limit_ns)
    changed_.wait_for(lock, kLook);
  TurnWish wish = new_wish(store, own_file(files));
  if (const std::string why = why_none(); !why.empty()) return without(wish, why);
  if (size_ == 0) return without(wish, "the other servers of the run are not found yet");
  want(wish);
  for (;;) {
    if (const std::string why = why_none(); !why.empty()) return without(wish, why);
    if (queue_.is_at_turn(self_, wish)) return {this, wish};
    const std::int64_t now_ns = os::now_ns();
    gives_way(&wish, files, now_ns);
    const std::int64_t still_ns = now_ns - std::max(begun_ns, changed_ns_);
    if (still_ns > limit_ns)
      return without(wish, "it has waited for " + std::to_string(still_ns / 1'000'000) +
                               " ms for " + whom_it_waits_for(wish));
    changed_.wait_for(lock, kLook);
  }
}

}  // namespace leat::server
