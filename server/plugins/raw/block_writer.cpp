// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/raw/block_writer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/plugins/common/whole_io.hpp"

namespace leat::raw {
namespace {

// Of a block: after each the way may be another one, and progress is said.
constexpr std::uint64_t kPart = 4ull << 20;

IoChoice::Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

BlockWriter::BlockWriter(Io io, std::string name, leat::Host host)
    : io_(io), name_(std::move(name)), host_(host), choice_(io) {}

void BlockWriter::begin(std::uint64_t waiting) { choice_.begin(now(), waiting); }

// Parts but the first begin on a page, so that no page is written by two of them.
int BlockWriter::write(int file, std::uint64_t at, const char* from, std::uint64_t bytes) {
  DirectIo direct;  // of this thread alone: it may be closed
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t part = std::min(kPart - (at + done) % kPage, bytes - done);
    const int code = is_large(bytes) ? write_part(&direct, file, at + done, from + done, part)
                                     : write_whole(file, from + done, part, at + done);
    if (code != 0) return code;
    host_.progress(part);
    done += part;
  }
  return 0;
}

int BlockWriter::write_part(DirectIo* direct, int file, std::uint64_t at, const char* from,
                            std::uint64_t bytes) {
  if (!starts(direct, file)) return write_whole(file, from, bytes, at);
  const int code = at % kPage == DirectIo::phase_of(from)
                       ? direct->write(at, from, bytes)
                       : copy_and_write(direct, file, at, from, bytes);
  has_ended(*direct);
  return code;
}

// In memory that lies to pages as the place in the file does.
int BlockWriter::copy_and_write(DirectIo* direct, int file, std::uint64_t at, const char* from,
                                std::uint64_t bytes) {
  char* const buffer = buffers_.take();
  if (buffer == nullptr) return write_whole(file, from, bytes, at);
  int code = 0;
  for (std::uint64_t done = 0; code == 0 && done < bytes;) {
    const std::uint64_t phase = (at + done) % kPage;
    const std::uint64_t some = std::min(Buffers::kBytes - phase, bytes - done);
    std::memcpy(buffer + phase, from + done, some);
    code = direct->write(at + done, buffer + phase, some);
    done += some;
  }
  buffers_.give_back(buffer);
  return code;
}

bool BlockWriter::starts(DirectIo* direct, int file) {
  const std::lock_guard lock(mutex_);
  if (!choice_.is_direct()) return false;
  if (!direct->is_open()) {
    if (const int code = direct->open(file); code != 0) {
      give_up(code);
      return false;
    }
  }
  if (under_way_++ == 0) counted_ = now();
  return true;
}

// What the disk took is the time in which one or more were under way.
void BlockWriter::has_ended(const DirectIo& direct) {
  const std::lock_guard lock(mutex_);
  const Time end = now();
  choice_.wrote(end - std::exchange(counted_, end));
  --under_way_;
  if (!direct.is_open()) give_up(direct.refusal());
}

// Once: others may have found it out at the same time.
void BlockWriter::give_up(int code) {
  if (std::exchange(io_, Io::buffered) == Io::direct) host_.warn(why_not_direct(name_, code));
  choice_.give_up();
}

}  // namespace leat::raw
