// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/bulk_writes.hpp"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>

#include "server/plugins/common/whole_io.hpp"

namespace leat::hdf5 {
namespace {

// Larger ones gain nothing.
constexpr std::size_t kLargest = 256ull * 1024;
// With as many gaps they fit into one write (IOV_MAX is 1024).
constexpr std::size_t kMostPieces = 256;
constexpr std::size_t kMostOfGap = 8;
constexpr char kGap[kMostOfGap] = {};

}  // namespace

void WriteCombiner::lend(const std::vector<LentRange>& ranges) {
  lent_.clear();
  gaps_.clear();
  for (const LentRange& range : ranges) {
    const auto* begin = static_cast<const char*>(range.begin);
    const char*& end = lent_[begin];
    if (!end || end < begin + range.bytes) end = begin + range.bytes;
  }
}

bool WriteCombiner::fits(const void* from, std::size_t bytes) const {
  const auto* begin = static_cast<const char*>(from);
  const auto after = lent_.upper_bound(begin);
  return bytes <= kLargest && after != lent_.begin() && begin + bytes <= std::prev(after)->second;
}

bool WriteCombiner::is_in_the_way(std::uint64_t address) const {
  return pieces_.size() == kMostPieces || (!pieces_.empty() && address < pieces_.back().end());
}

void WriteCombiner::add(std::uint64_t address, const void* from, std::size_t bytes) {
  pieces_.push_back({address, from, bytes});
}

bool WriteCombiner::touches(std::uint64_t address, std::size_t bytes) const {
  return !pieces_.empty() && address < pieces_.back().end() &&
         pieces_.front().address < address + bytes;
}

bool WriteCombiner::follows(const Piece& piece, const Piece& before) const {
  if (piece.address == before.end()) return true;
  const auto gap = gaps_.find(before.end());
  return gap != gaps_.end() && gap->second == piece.address &&
         piece.address - before.end() <= kMostOfGap;
}

void WriteCombiner::write(int file) {
  for (std::size_t first = 0, last = 0; first < pieces_.size(); first = last) {
    last = first + 1;
    while (last < pieces_.size() && follows(pieces_[last], pieces_[last - 1])) ++last;
    const int failed = write_run(file, first, last);
    if (failed_ == 0) failed_ = failed;
  }
  pieces_.clear();
}

int WriteCombiner::write_run(int file, std::size_t first, std::size_t last) const {
  std::vector<iovec> parts;
  std::uint64_t at = pieces_[first].address;
  for (std::size_t i = first; i < last; ++i) {
    const Piece& piece = pieces_[i];
    if (piece.address > at) parts.push_back({const_cast<char*>(kGap), piece.address - at});
    parts.push_back({const_cast<void*>(piece.from), piece.bytes});
    at = piece.end();
  }
  const std::uint64_t begin = pieces_[first].address;
  if (last - first > 1 && ::pwritev(file, parts.data(), static_cast<int>(parts.size()),
                                    static_cast<off_t>(begin)) == static_cast<ssize_t>(at - begin))
    return 0;
  // One alone; or it was cut short, and each says for itself how it fares.
  int code = 0;
  for (std::size_t i = first; i < last; ++i) {
    const int failed = write_whole(file, pieces_[i].from, pieces_[i].bytes, pieces_[i].address);
    if (code == 0) code = failed;
  }
  return code;
}

namespace {

IoChoice::Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

int DirectWriter::choose(Io io) {
  choice_ = IoChoice(io);
  const int code = io == Io::direct ? direct_.open(file_) : 0;
  if (code != 0) choice_.give_up();
  return code;
}

void DirectWriter::move_to(int file) {
  file_ = file;
  if (direct_.is_open() && direct_.open(file_) != 0) choice_.give_up();
}

std::optional<std::uint64_t> DirectWriter::begin(const std::vector<LentRange>& blocks,
                                                 std::uint64_t waiting) {
  const auto large = std::find_if(blocks.begin(), blocks.end(), [](const LentRange& block) {
    return block.bytes >= DirectIo::kSmallest;
  });
  if (large == blocks.end()) return {};
  choice_.begin(now(), waiting);
  if (choice_.is_direct() && !direct_.is_open() && direct_.open(file_) != 0) choice_.give_up();
  return choice_.is_direct() ? DirectIo::phase_of(large->begin) : 0;
}

int DirectWriter::write(std::uint64_t address, const void* from, std::size_t bytes) {
  const IoChoice::Time begun = now();
  const int code = direct_.write(address, from, bytes);
  choice_.wrote(now() - begun);
  if (!direct_.is_open()) choice_.give_up();
  return code;
}

namespace {

// Less is not worth a call, and would write the pages at the ends more than once.
constexpr std::uint64_t kWriteBackStep = 8 << 20;

}  // namespace

void EarlyWriteback::upto(int fd, std::uint64_t end) {
  {
    const std::lock_guard lock(mutex_);
    if (end < wanted_ + kWriteBackStep) return;
    wanted_ = end;
  }
  try {
    if (!thread_.joinable()) thread_ = std::thread([this, fd] { run(fd); });
  } catch (const std::exception&) {
    return;  // no more threads: the system writes when it likes
  }
  changed_.notify_one();
}

void EarlyWriteback::run(int fd) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stops_ || wanted_ > asked_; });
    if (stops_) return;
    const auto from = static_cast<off_t>(asked_), bytes = static_cast<off_t>(wanted_ - asked_);
    asked_ = wanted_;
    lock.unlock();
    // Where a file system cannot, it writes as it likes.
    ::sync_file_range(fd, from, bytes, SYNC_FILE_RANGE_WRITE);
    lock.lock();
  }
}

void EarlyWriteback::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

}  // namespace leat::hdf5
