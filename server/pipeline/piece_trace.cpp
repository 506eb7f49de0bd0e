// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/piece_trace.hpp"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "lib/platform/affinity.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/process_id.hpp"

namespace leat::server {
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
    thread.file << "# until " << platform::now_ns() - origin_ns_ << '\n' << std::flush;
}

void PieceTrace::add(std::int64_t begun_ns) {
  const Piece piece{begun_ns, platform::now_ns() - begun_ns, platform::current_core()};
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
  thread.file.open(folder_ + "/analytics-" + platform::node_name() + "-" +
                   std::to_string(platform::this_process().pid) + "-" + store_ + "-" +
                   std::to_string(opened_++) + ".txt");
  thread.file << "# start_ns duration_ns; 0 is " << origin_ns_ << " of CLOCK_MONOTONIC\n";
}

}  // namespace leat::server
