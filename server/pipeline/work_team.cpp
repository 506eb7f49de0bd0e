// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/work_team.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace leat::server {

struct WorkTeam::Job {
  const Piece& piece;
  std::uint64_t pieces;
  std::atomic<std::uint64_t> next{0};
  std::size_t helpers = 0;  // this and what follows: under the mutex
  std::string error{};

  bool is_given_out() const noexcept { return next.load() >= pieces; }
};

WorkTeam::~WorkTeam() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  threads_.clear();
}

void WorkTeam::start(Executor& executor) {
  try {
    while (threads_.size() < members_) {
      threads_.push_back(
          executor.run("leat pieces", Executor::Urgency::behind_others, [this] { work(); }));
    }
  } catch (const std::system_error&) {
  }
}

std::string WorkTeam::run(std::uint64_t pieces, const Piece& piece, const IsLate& /*is_late*/) {
  Job job{piece, pieces};
  std::unique_lock<std::mutex> lock(mutex_);
  const auto place = jobs_.insert(jobs_.end(), &job);
  if (pieces > 1) changed_.notify_all();
  help(job, lock);
  changed_.wait(lock, [&job] { return job.helpers == 0; });
  jobs_.erase(place);
  return std::move(job.error);
}

// What fails ends the giving out.
void WorkTeam::help(Job& job, std::unique_lock<std::mutex>& lock) {
  ++job.helpers;
  lock.unlock();
  std::string error;
  for (std::uint64_t i = 0; error.empty() && (i = job.next.fetch_add(1)) < job.pieces;)
    error = job.piece(i);
  if (!error.empty()) job.next.store(job.pieces);
  lock.lock();
  if (job.error.empty()) job.error = std::move(error);
  if (--job.helpers == 0) changed_.notify_all();
}

WorkTeam::Job* WorkTeam::next_job() {
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [](const Job* job) { return !job->is_given_out(); });
  return found == jobs_.end() ? nullptr : *found;
}

void WorkTeam::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    Job* job = nullptr;
    changed_.wait(lock, [&] { return closing_ || (job = next_job()); });
    if (!job) return;
    // Each time: who places the server's threads binds those that are there, these too.
    if (!cores_.empty()) platform::set_affinity(cores_);
    help(*job, lock);
  }
}

}  // namespace leat::server
