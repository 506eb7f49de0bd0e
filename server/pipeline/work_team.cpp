// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/work_team.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/os/cores.hpp"
#include "lib/os/process.hpp"

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
    if (!cores_.empty()) os::set_affinity(cores_);
    help(*job, lock);
  }
}

namespace {

// The one who asks helps himself.
std::size_t helpers(std::size_t cores) { return std::max<std::size_t>(1, cores) - 1; }

}  // namespace

Crews::Crews(const ServerCores& cores)
    : dedicated_(helpers(cores.dedicated)),
      everywhere_(helpers(static_cast<std::size_t>(cores.all.count())), cores.all),
      lent_(cores.lent) {}

PieceRunner& Crews::of(model::Schedule schedule) {
  switch (schedule) {
    case model::Schedule::server:
    case model::Schedule::idle:
    case model::Schedule::harvest:
    case model::Schedule::coordinated:
    case model::Schedule::static_:
      return dedicated_;
    case model::Schedule::dynamic:
      return lent_ ? *lent_ : dedicated_;
    case model::Schedule::sync:
      is_everywhere_wanted_ = true;
      return everywhere_;
  }
  return dedicated_;
}

void Crews::start(Executor& executor) {
  dedicated_.start(executor);
  if (is_everywhere_wanted_) everywhere_.start(executor);
}

namespace {

constexpr char kTraceVariable[] = "LEAT_ANALYTICS_TRACE";

}  // namespace

std::unique_ptr<PieceTrace> PieceTrace::wanted_for(const std::string& store,
                                                   std::shared_ptr<Log> log) {
  const char* const folder = std::getenv(kTraceVariable);
  if (!folder || *folder == '\0') return nullptr;
  return std::make_unique<PieceTrace>(folder, store, std::move(log));
}

PieceTrace::PieceTrace(std::string folder, std::string store, std::shared_ptr<Log> log)
    : folder_(std::move(folder)), store_(std::move(store)), log_(std::move(log)) {}

PieceTrace::~PieceTrace() {
  flush();
  for (auto& [number, thread] : threads_)
    thread.file << "# until " << os::now_ns() - origin_ns_ << '\n' << std::flush;
}

void PieceTrace::add(std::int64_t begun_ns) {
  const Piece piece{begun_ns, os::now_ns() - begun_ns, os::current_core()};
  const std::lock_guard<std::mutex> lock(mutex_);
  threads_[std::this_thread::get_id()].pieces.push_back(piece);
  // Of threads that began at the same time, another one's may come first.
  if (opened_ == 0 && (origin_ns_ == 0 || begun_ns < origin_ns_)) origin_ns_ = begun_ns;
}

void PieceTrace::flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [number, thread] : threads_)
    if (!thread.pieces.empty()) write(thread);
}

void PieceTrace::write(OfThread& thread) {
  if (!thread.file.is_open() && !has_failed_) open(thread);
  for (const Piece& piece : thread.pieces) {
    if (piece.core != thread.core) thread.file << "# core " << piece.core << '\n';
    thread.core = piece.core;
    thread.file << piece.begun_ns - origin_ns_ << ' ' << piece.ns << '\n';
  }
  thread.file.flush();
  thread.pieces.clear();
  if (thread.file || std::exchange(has_failed_, true)) return;
  log_->warn("{}={}: no trace of store \"{}\" can be written there", kTraceVariable, folder_,
             store_);
}

void PieceTrace::open(OfThread& thread) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  thread.file.open(folder_ + "/analytics-" + os::node_name() + "-" +
                   std::to_string(os::this_process().pid) + "-" + store_ + "-" +
                   std::to_string(opened_++) + ".txt");
  thread.file << "# start_ns duration_ns; 0 is " << origin_ns_ << " of CLOCK_MONOTONIC\n";
}

}  // namespace leat::server
