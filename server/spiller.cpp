// SPDX-License-Identifier: Apache-2.0
#include "server/spiller.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "lib/platform/clock.hpp"
#include "lib/platform/memory.hpp"
#include "lib/platform/spill_folder.hpp"
#include "server/spill_file.hpp"

namespace leat::server {
namespace {

// A disk that had no room is asked again after this time, or when a file of ours has gone.
constexpr std::int64_t kTryAgainNs = 5'000'000'000;

}  // namespace

struct Spiller::Disk {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> files_gone{0};
  std::atomic<std::uint64_t> iterations{0}, all_bytes{0};  // over the whole run
  std::function<void()> wake;
};

// Lives as long as the mapping of its file.
struct Spiller::OnDisk {
  std::shared_ptr<Disk> disk;
  std::string path;
  std::uint64_t bytes;

  OnDisk(std::shared_ptr<Disk> where, std::string file, std::uint64_t size)
      : disk(std::move(where)), path(std::move(file)), bytes(size) {}
  OnDisk(const OnDisk&) = delete;
  ~OnDisk() {
    ::unlink(path.c_str());
    disk->bytes -= bytes;
    ++disk->files_gone;
    disk->wake();
  }
};

Spiller::Spiller(SpillerParts parts, Pipeline& pipeline)
    : parts_(std::move(parts)), pipeline_(pipeline), disk_(std::make_shared<Disk>()) {
  disk_->wake = parts_.wake;
}

Spiller::~Spiller() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Spiller::start() {
  if (!parts_.folder.empty()) thread_ = std::thread([this] { run(); });
}

void Spiller::make_room() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (wanted_) return;
  wanted_ = true;
  changed_.notify_one();
}

std::vector<Iteration> Spiller::take_up(std::int64_t done) {
  std::vector<Iteration> found;
  if (parts_.folder.empty()) return found;
  for (const std::string& path : platform::spilled_files(parts_.folder)) {
    std::error_code error;
    const std::uint64_t bytes = std::filesystem::file_size(path, error);
    disk_->bytes += bytes;
    Result<Iteration> part = read_spill_file(path, std::make_shared<OnDisk>(disk_, path, bytes));
    if (!part) parts_.log->error("{}", part.error().message);
    if (part && part->number > done) found.push_back(std::move(*part));
  }
  return found;
}

std::string Spiller::report() const {
  if (disk_->iterations == 0) return "";
  return fmt::format("{} iteration{}, {}, waited in {} for the stores", disk_->iterations.load(),
                     disk_->iterations == 1 ? "" : "s", platform::format_bytes(disk_->all_bytes),
                     parts_.folder);
}

void Spiller::run() {
  thread_id_ = gettid();
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || wanted_; });
    if (closing_) return;
    lock.unlock();
    const bool moved = spill_one();
    lock.lock();
    wanted_ = false;
    // Only news are worth a call: the loop would ask at once for what cannot be done.
    if (moved) parts_.wake();
  }
}

bool Spiller::is_in_segment(const Block& block) const noexcept {
  const auto* const start = static_cast<const char*>(parts_.segment_start);
  const auto* const data = static_cast<const char*>(block.data);
  return data >= start && data < start + parts_.segment_bytes;
}

// The variables that can move: in the segment, and with so many holders, all of them ours.
std::set<std::uint32_t> Spiller::movable(const Iteration& iteration, long holders) const {
  std::set<std::uint32_t> variables;
  for (const Block& block : iteration.blocks) {
    if (is_in_segment(block) && iteration.holds.at(block.variable).use_count() == holders)
      variables.insert(block.variable);
  }
  return variables;
}

Iteration Spiller::part_to_move(const Iteration& iteration) const {
  const std::set<std::uint32_t> variables = movable(iteration, 2);  // held in line and by our copy
  Iteration part{iteration.number, iteration.complete, {}, {}, iteration.parameters};
  for (const Block& block : iteration.blocks) {
    if (variables.count(block.variable)) part.blocks.push_back(block);
  }
  return part;
}

bool Spiller::spill_one() {
  std::optional<Iteration> copy =
      pipeline_.newest([this](const Iteration& each) { return !movable(each, 1).empty(); });
  if (!copy) return false;
  const Iteration part = part_to_move(*copy);
  const std::uint64_t bytes = spill_file_bytes(part);
  if (part.blocks.empty() || !write(part)) return false;
  const std::string path = parts_.folder + "/" + platform::spill_file_name(part.number);
  Result<Iteration> moved = read_spill_file(path, std::make_shared<OnDisk>(disk_, path, bytes));
  if (!moved) {
    say_once(&said_failed_, moved.error().message);
    return false;
  }
  const bool in_time = pipeline_.replace(with_part_moved(std::move(*copy), *moved));
  if (in_time) {
    ++disk_->iterations;
    disk_->all_bytes += bytes;
  }
  return true;
}

// Counts the bytes while they are on the disk; on success the caller's OnDisk takes them over.
bool Spiller::write(const Iteration& part) {
  const std::uint64_t bytes = spill_file_bytes(part);
  if (disk_->bytes + bytes > parts_.most_bytes) {
    say_once(&said_full_,
             fmt::format("spill-size is used up: {} lie in {}; the simulation waits for the stores",
                         platform::format_bytes(disk_->bytes), parts_.folder));
    return false;
  }
  if (platform::now_ns() < try_again_ns_ && disk_->files_gone == gone_when_failed_) return false;
  disk_->bytes += bytes;
  const std::string why = write_spill_file(parts_.folder, part);
  if (why.empty()) return true;
  disk_->bytes -= bytes;
  try_again_ns_ = platform::now_ns() + kTryAgainNs;
  gone_when_failed_ = disk_->files_gone;
  say_once(&said_failed_, fmt::format("cannot spill iteration {} to {}: {}; the simulation waits "
                                      "for the stores",
                                      part.number, parts_.folder, why));
  return false;
}

// Both have their blocks by variable, rank, block.
Iteration Spiller::with_part_moved(Iteration iteration, const Iteration& moved) const {
  auto next = moved.blocks.begin();
  for (Block& block : iteration.blocks) {
    if (next == moved.blocks.end() || next->variable != block.variable) continue;
    block = *next++;
  }
  for (const auto& [variable, hold] : moved.holds) iteration.holds[variable] = hold;
  return iteration;
}

void Spiller::say_once(bool* said, const std::string& text) {
  if (std::exchange(*said, true)) return;
  parts_.log->warn("{}", text);
}

}  // namespace leat::server
