// SPDX-License-Identifier: Apache-2.0
#include "server/state/spill/spiller.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/node/output_folders.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/limits.hpp"
#include "lib/os/memory.hpp"

namespace leat::server {
namespace {

// A disk that had no room is asked again after this time, or when a file of ours has gone.
constexpr std::int64_t kTryAgainNs = 5'000'000'000;
constexpr std::uint64_t kDescriptorsForOthers = 48;

}  // namespace

Spiller::Spiller(SpillerParts parts, WaitingLine& line) : parts_(std::move(parts)), line_(line) {}

void Spiller::start(Executor& executor) {
  if (parts_.folder >= 0) executor.start(worker_, "leat spill");
}

void Spiller::make_room() {
  const std::lock_guard<std::mutex> lock(mutex_);
  wanted_ = true;
  begin_if_wanted();
}

// With the lock.
void Spiller::begin_if_wanted() {
  if (!wanted_ || is_busy_ || written_ || !worker_.has_thread()) return;
  is_busy_ = true;
  worker_.post([this] {
    std::optional<Written> moved = spill_one();
    const bool any = moved.has_value();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_busy_ = wanted_ = false;
      written_ = std::move(moved);
    }
    // Only what was written is worth a call: the loop would ask at once for what cannot be done.
    if (any) parts_.wake();
  });
}

void Spiller::take_written(const std::function<bool(const SpillRecord&)>& append) {
  Written written;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!written_) return;
    // There is one until the line has been replaced: meanwhile the thread would find the same
    // iteration in line, and write it again.
    written = std::move(*written_);
    on_disk_[written.iteration.number].push_back(written.file);
  }
  const std::int64_t number = written.iteration.number;
  const bool noted = append(written.file->record());
  if (!noted && !said_failed_.exchange(true)) {
    parts_.log->warn(
        "cannot spill iteration {}: the journal of the session cannot be written to; the "
        "simulation waits for the stores",
        number);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (noted && line_.replace(std::move(written.iteration))) {
    ++total_.iterations;
    total_.bytes += written.file->bytes();
  } else {  // it is in the segment still, for a server that takes over too
    on_disk_[number].pop_back();
    if (on_disk_[number].empty()) on_disk_.erase(number);
    remove(*written.file);
  }
  written_.reset();
  begin_if_wanted();  // the last: its thread looks at the line without this lock
}

void Spiller::forget(std::int64_t done) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto end = on_disk_.upper_bound(done);
  for (auto each = on_disk_.begin(); each != end; ++each) {
    for (const auto& file : each->second) remove(*file);
  }
  on_disk_.erase(on_disk_.begin(), end);
}

void Spiller::remove(const SpillFile& file) {
  if (parts_.folder >= 0) unlinkat(parts_.folder, file.record().file.c_str(), 0);
  bytes_ -= file.bytes();
  --files_;
  ++files_gone_;
}

std::vector<JournalRecord> Spiller::snapshot() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<JournalRecord> all;
  for (const auto& [iteration, files] : on_disk_) {
    for (const auto& file : files) all.emplace_back(file->record());
  }
  return all;
}

void Spiller::restore(std::vector<SpillRecord> records) {
  std::set<std::string> known;
  for (SpillRecord& record : records) {
    known.insert(record.file);
    const std::int64_t number = record.iteration;
    auto file = SpillFile::open(parts_.folder, parts_.path, std::move(record));
    bytes_ += file->bytes();
    ++files_;
    on_disk_[number].push_back(std::move(file));
  }
  if (parts_.folder >= 0) node::remove_spilled_files(parts_.folder, known);
}

Spiller::Files Spiller::files_of(std::int64_t iteration) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = on_disk_.find(iteration);
  return found == on_disk_.end() ? Files() : found->second;
}

std::string Spiller::report() const {
  if (total_.iterations == 0) return "";
  return fmt::format("{}, {}, waited in {} for the stores", counted(total_.iterations, "iteration"),
                     format_bytes(total_.bytes), parts_.path);
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
    if (is_in_segment(block) && iteration.pins.at(block.variable).use_count() == holders)
      variables.insert(block.variable);
  }
  return variables;
}

Iteration Spiller::part_to_move(const Iteration& iteration) const {
  const std::set<std::uint32_t> variables = movable(iteration, 2);  // held in line and by our copy
  Iteration part{iteration.number, iteration.complete, {}, {}, {}};
  for (const Block& block : iteration.blocks) {
    if (variables.count(block.variable)) part.blocks.push_back(block);
  }
  return part;
}

std::optional<Spiller::Written> Spiller::spill_one() {
  std::optional<Iteration> copy =
      line_.newest([this](const Iteration& each) { return !movable(each, 1).empty(); });
  if (!copy) return std::nullopt;
  const Iteration part = part_to_move(*copy);
  if (part.blocks.empty()) return std::nullopt;
  const std::shared_ptr<const SpillFile> file = write(part);
  if (!file) return std::nullopt;
  return Written{with_part_moved(std::move(*copy), file), file};
}

// An iteration can go to the disk in several parts: a script may let a variable go later.
std::string Spiller::new_name(std::int64_t iteration) const {
  return node::spill_file_name(iteration, files_of(iteration).size());
}

// "" when there is room for one more file of so many bytes.
std::string Spiller::why_not(std::uint64_t bytes) const {
  if (bytes_ + bytes > parts_.most_bytes) {
    return fmt::format("spill-size is used up: {} lie in {}", format_bytes(bytes_), parts_.path);
  }
  // Each is open until it is done with.
  const std::uint64_t most = os::most_descriptors();
  const std::uint64_t for_others = std::max(kDescriptorsForOthers, most / 2);
  if (files_ + for_others < most) return "";
  return fmt::format("{} iterations lie in {}, and this process may have {} files open (ulimit -n)",
                     files_.load(), parts_.path, most);
}

// Counts it while it is on the disk.
std::shared_ptr<const SpillFile> Spiller::write(const Iteration& part) {
  const std::uint64_t bytes = spill_file_bytes(part);
  if (const std::string why = why_not(bytes); !why.empty()) {
    if (!std::exchange(trouble_.said_full, true))
      parts_.log->warn("{}; the simulation waits for the stores", why);
    return nullptr;
  }
  if (os::now_ns() < trouble_.try_again_ns && files_gone_ == trouble_.gone_when_failed)
    return nullptr;
  auto file = SpillFile::write(parts_.folder, new_name(part.number), part);
  if (file) {
    bytes_ += bytes;
    ++files_;
    return *file;
  }
  trouble_.try_again_ns = os::now_ns() + kTryAgainNs;
  trouble_.gone_when_failed = files_gone_;
  if (!said_failed_.exchange(true)) {
    parts_.log->warn("cannot spill iteration {} to {}: {}; the simulation waits for the stores",
                     part.number, parts_.path, file.error().message);
  }
  return nullptr;
}

// Both have their blocks by variable, rank, block.
Iteration Spiller::with_part_moved(Iteration iteration,
                                   const std::shared_ptr<const SpillFile>& file) {
  const std::vector<SpillRecord::One>& moved = file->record().blocks;
  std::uint32_t next = 0;
  for (Block& block : iteration.blocks) {
    if (next == moved.size() || moved[next].variable != block.variable) continue;
    block = file->block_here(block, next++);
    iteration.pins[block.variable] = file;
  }
  return iteration;
}

}  // namespace leat::server
