// SPDX-License-Identifier: Apache-2.0
#include "server/state/group/joining.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <utility>

namespace leat::server {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kSecondNs = 1'000'000'000;
// A server on a busy machine may be late by so much, whatever the timeout is.
constexpr std::int64_t kLeastMeetingNs = 2 * kSecondNs;
// What leat_init_mpi gives its ranks for each of its stages, and how many there are; see client-api/connect/ranks.cpp.
constexpr std::int64_t kStageOfRanksNs = 60 * kSecondNs, kStagesOfRanks = 4;
// Servers mostly come at the same time.
constexpr milliseconds kLeastLookPause{2}, kMostLookPause{250};

constexpr const char *kByRanks = "by their ranks", *kInFolder = "in the folder ";

std::int64_t limit_of_ranks_ns() {
  const char* const text = std::getenv("LEAT_SPLIT_TIMEOUT");
  const long long seconds = text ? std::atoll(text) : 0;
  return kStagesOfRanks * (seconds > 0 ? seconds * kSecondNs : kStageOfRanksNs);
}

}  // namespace

model::Carrier carrier_of(model::Carrier wanted, const comm::Meeting& meeting) {
  if (meeting.size() < 2) return model::Carrier::none;
  if (wanted != model::Carrier::automatic) return wanted;
  return meeting.all_have_addresses() ? model::Carrier::tcp : model::Carrier::folder;
}

void Joining::begin(JoiningParts parts) {
  parts_ = std::move(parts);
  if (parts_.own.number == 0) return;
  record_ = {comm::bytes_of(parts_.own, true), "", ""};
  if (!run_.facts.resumed) journal_.append(record_);
}

void Joining::greet(const shm::Hello& hello, shm::Welcome* welcome) {
  if (parts_.own.number == 0) return;
  if (!by_ranks_) by_ranks_ = hello.meets != 0;
  if (*by_ranks_ && since_ns_ == 0) since_ns_ = run_.now_ns;
  welcome->meeting = parts_.own.number;
  const std::string first = comm::bytes_of(parts_.own, true);
  const std::string other = comm::bytes_of(parts_.own, false);
  welcome->first_offer_bytes = static_cast<std::uint32_t>(first.size());
  welcome->offer_bytes = static_cast<std::uint32_t>(other.size());
  (first + other).copy(welcome->offers, sizeof welcome->offers);
}

void Joining::take_offers(const std::string& offers) {
  if (!record_.offers.empty() && record_.offers == offers)
    return;  // again, of a server before this one
  const Result<comm::Meeting> meeting = comm::meeting_of(offers, parts_.own.number);
  std::string why = meeting ? "" : meeting.error().message;
  if (is_over_ || !record_.offers.empty()) why = "this server has gone on already";
  if (!why.empty() && std::exchange(has_refused_, true)) return;
  if (!why.empty())
    return run_.log->warn("what a rank says of the other servers of the run is not taken: {}", why);
  note(offers, kByRanks);
}

void Joining::note(std::string offers, std::string why) {
  record_.offers = std::move(offers);
  record_.why = std::move(why);
  journal_.append(record_);
}

void Joining::ranks_are_here(std::int32_t lowest) {
  const bool is_known = is_over_ || !record_.why.empty();
  if (is_known || !by_ranks_ || *by_ranks_ || thread_.joinable()) return;
  since_ns_ = run_.now_ns;
  begin_in_folder(lowest);
}

void Joining::no_rank_comes() {
  if (!is_over_ && record_.why.empty() && since_ns_ == 0)
    note("", "none of its ranks has connected");
}

void Joining::begin_in_folder(std::int32_t lowest) {
  try {
    thread_ = run_.executor.run(
        "leat-meeting", Executor::Urgency::behind_others,
        [this, meeting = comm::FolderMeeting(
                   {parts_.folder, parts_.own, lowest, run_.facts.node_ranks, run_.facts.ranks})] {
          work(meeting);
        });
  } catch (const std::exception& e) {
    note("", std::string("no thread can be started to look for them: ") + e.what());
  }
}

// A disk may take any time: nobody waits for it but this thread, and stop().
void Joining::work(comm::FolderMeeting meeting) {
  comm::remove_old_meetings(meeting.parent());
  milliseconds pause = kLeastLookPause;
  bool have_met = false;
  std::unique_lock lock(mutex_);
  while (!stopping_ && offers_.empty()) {
    lock.unlock();
    meeting.poll();
    lock.lock();
    offers_ = meeting.offers();
    why_waiting_ = meeting.why_waiting();
    have_met = !offers_.empty();
    if (!have_met) changed_.wait_for(lock, pause, [this] { return stopping_; });
    pause = std::min(2 * pause, kMostLookPause);
  }
  if (have_met) {
    has_news_.store(true, std::memory_order_relaxed);
    wake_();
  }
  changed_.wait(lock, [this] { return stopping_; });
  lock.unlock();
  meeting.leave();
}

// Less than the timeout, so that ranks which wait for memory get it.
std::int64_t Joining::limit_ns() const {
  return *by_ranks_ ? limit_of_ranks_ns() : std::max(kLeastMeetingNs, run_.timeout_ns() / 4 * 3);
}

std::string Joining::why_waiting() const {
  if (is_over_ || since_ns_ == 0) return "";
  if (*by_ranks_) return "the ranks of this server have not said which other servers the run has";
  const std::lock_guard lock(mutex_);
  return why_waiting_;
}

std::optional<Joining::Met> Joining::take_met() {
  if (is_over_) return std::nullopt;
  if (parts_.own.number == 0 || run_.facts.drained) return over({{}, parts_.why_alone});
  if (has_news_.exchange(false, std::memory_order_relaxed)) {
    const std::lock_guard lock(mutex_);
    note(offers_, kInFolder + parts_.folder);
  }
  if (record_.why.empty() && since_ns_ != 0 && run_.now_ns - since_ns_ > limit_ns())
    note("", why_waiting() + ", within " + std::to_string(limit_ns() / kSecondNs) + " s");
  if (record_.why.empty()) return std::nullopt;
  if (record_.offers.empty()) return over({{}, record_.why});
  const Result<comm::Meeting> meeting = comm::meeting_of(record_.offers, parts_.own.number);
  if (!meeting) return over({{}, meeting.error().message});
  if (!thread_.joinable() && record_.why.starts_with(kInFolder)) {  // of a server before this one
    offers_ = record_.offers;
    begin_in_folder(0);
  }
  return over({*meeting, record_.why});
}

Joining::Met Joining::over(Met met) {
  is_over_ = true;
  return met;
}

// A run that is stored after its end has its card in the folder still.
void Joining::clear_away() {
  std::string_view bytes = record_.own;
  const std::optional<comm::Offer> own = comm::take_offer(&bytes);
  if (!own || record_.why.starts_with(kByRanks)) return;
  comm::FolderMeeting({parts_.folder, *own, 0, run_.facts.node_ranks, run_.facts.ranks}).leave();
}

void Joining::stop() {
  if (run_.facts.drained) clear_away();
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace leat::server
