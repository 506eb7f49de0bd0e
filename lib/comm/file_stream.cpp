// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/file_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/os/crc32c.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

constexpr std::uint64_t kBytesOfFile = std::uint64_t{8} << 20;
constexpr std::uint32_t kMostFiles = 8;  // that the reader has not removed
constexpr std::size_t kBytesAtOnce = 65536;

enum FrameKind : std::uint32_t { kMessageFrame = 1, kNextFileFrame = 2, kEndFrame = 3 };

struct FrameHead {
  std::uint32_t sum = 0;  // of all that follows, and of the stream's name
  std::uint32_t bytes = 0;
  std::uint32_t number = 0;
  std::uint32_t kind = 0;
};

std::uint32_t sum_of(const FrameHead& head, std::string_view message, const std::string& name) {
  std::uint32_t sum = os::crc32c(name.data(), name.size());
  sum = os::crc32c(&head.bytes, sizeof head - sizeof head.sum, sum);
  return os::crc32c(message.data(), message.size(), sum);
}

// ESTALE: it was removed on another node.
bool is_gone(int error) { return error == ENOENT || error == ESTALE; }

int write_all_at(int file, std::string_view bytes, std::uint64_t at) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n =
        pwrite(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace

// ---- the writer ----

FileWriter::FileWriter(std::string name) : name_(std::move(name)) {}

void FileWriter::put(std::uint32_t kind, std::string_view message) {
  FrameHead head{0, static_cast<std::uint32_t>(message.size()), next_++, kind};
  head.sum = sum_of(head, message, name_);
  std::string& bytes = parts_.back().bytes;
  bytes.append(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += message;
}

bool FileWriter::send(std::string_view message) {
  if (message.size() > kMostBytesOfFrame) return false;
  if (parts_.back().begin + parts_.back().bytes.size() >= kBytesOfFile) {
    put(kNextFileFrame, {});
    parts_.push_back({.file = parts_.back().file + 1});
  }
  put(kMessageFrame, message);
  return true;
}

void FileWriter::end() { put(kEndFrame, {}); }

std::size_t FileWriter::unsent() const {
  std::size_t bytes = 0;
  for (const Part& each : parts_) bytes += each.bytes.size();
  return bytes;
}

bool FileWriter::is_there(int folder) const {
  return faccessat(folder, path(parts_.front().file).c_str(), F_OK, 0) == 0 || !is_gone(errno);
}

FileWriter::State FileWriter::make(int folder, Part* part, std::string* why) const {
  if (part->file >= kMostFiles &&
      faccessat(folder, path(part->file - kMostFiles).c_str(), F_OK, 0) == 0) {
    *why = "it does not read what is written for it";
    return State::late;
  }
  const os::UniqueFd file(
      openat(folder, path(part->file).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file && is_gone(errno)) return State::gone;
  if (!file) {
    *why = os::errno_text(errno);
    return State::late;
  }
  part->is_made = true;
  return State::good;
}

// What close() says counts: a network file system tells only there that the disk is full. The same bytes are written to the same
// place until all are there, and nobody sees more of them than he has seen before.
FileWriter::State FileWriter::write_part(int folder, Part* part, std::string* why) const {
  const int file = openat(folder, path(part->file).c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  int error = file < 0 ? errno : write_all_at(file, part->bytes, part->begin);
  if (file >= 0 && ::close(file) != 0 && error == 0) error = errno;
  if (is_gone(error)) return State::gone;
  if (error != 0) {
    *why = os::errno_text(error);
    return State::late;
  }
  part->begin += part->bytes.size();
  part->bytes.clear();
  return State::good;
}

FileWriter::State FileWriter::write(int folder, std::string* why) {
  while (has_unsent()) {
    for (std::size_t i = 0; i < std::min<std::size_t>(parts_.size(), 2); ++i) {
      if (parts_[i].is_made) continue;
      if (const State made = make(folder, &parts_[i], why); made != State::good) return made;
    }
    const State written = write_part(folder, &parts_.front(), why);
    if (written != State::good) return written;
    if (parts_.size() == 1) break;
    parts_.pop_front();
  }
  return State::good;
}

// ---- the reader ----

FileReader::FileReader(std::string name, std::int64_t patience_ns)
    : name_(std::move(name)), patience_ns_(patience_ns) {}

FileReader::Taken FileReader::take_frames(std::string_view bytes,
                                          std::vector<std::string>* messages) {
  Taken taken = Taken::nothing;
  while (bytes.size() >= sizeof(FrameHead)) {
    FrameHead head;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.number != next_ || head.bytes > kMostBytesOfFrame) break;
    needed_ = sizeof head + head.bytes;
    if (bytes.size() < needed_) break;
    const std::string_view message = bytes.substr(sizeof head, head.bytes);
    if (head.sum != sum_of(head, message, name_)) break;
    bytes.remove_prefix(needed_);
    begin_ += needed_;
    needed_ = 0;
    ++next_;
    torn_since_ns_ = 0;
    if (head.kind == kNextFileFrame) return Taken::next_file;
    if (head.kind == kEndFrame) return Taken::end;
    messages->emplace_back(message);
    taken = Taken::some;
  }
  return taken;
}

bool FileReader::is_torn_for_long(std::int64_t now_ns) {
  if (torn_since_ns_ == 0) torn_since_ns_ = now_ns;
  return now_ns - torn_since_ns_ > patience_ns_;
}

FileReader::State FileReader::read(int folder, std::int64_t now_ns,
                                   std::vector<std::string>* messages, std::string* why) {
  std::string bytes;
  os::UniqueFd file;
  while (true) {
    if (!file)
      file = os::UniqueFd(
          openat(folder, path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!file && is_gone(errno)) return State::gone;
    bytes.resize(std::max(kBytesAtOnce, needed_));
    const ssize_t size =
        file ? pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(begin_)) : -1;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && is_gone(errno)) return State::gone;
    if (size < 0) {
      *why = os::errno_text(errno);
      return State::late;
    }
    if (size == 0) return State::good;
    const std::size_t before = needed_;
    const Taken taken = take_frames({bytes.data(), static_cast<std::size_t>(size)}, messages);
    if (taken == Taken::end) {
      remove(folder);
      return State::ended;
    }
    if (taken == Taken::next_file) {
      remove(folder);
      file.reset();
      ++file_;
      begin_ = 0;
    }
    const bool may_have_more = needed_ > before && needed_ > bytes.size();
    if (taken == Taken::nothing && !may_have_more)
      return is_torn_for_long(now_ns) ? State::broken : State::good;
  }
}

void FileReader::remove(int folder) const { unlinkat(folder, path().c_str(), 0); }

}  // namespace leat::comm
