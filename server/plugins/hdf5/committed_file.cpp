// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/committed_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "server/plugins/hdf5/whole_io.hpp"

namespace leat::hdf5 {
namespace {

// Bulk data leave so much for the structures that describe them.
constexpr std::uint64_t kKeptForStructures = 512 * 1024;
// Taken at once, so that the disk is not asked for each little piece.
constexpr std::uint64_t kStep = 1024 * 1024;

// A write beyond the limit of the process would raise SIGXFSZ.
bool over_the_limit(std::uint64_t end) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         end > limit.rlim_cur;
}

std::string part_of(const std::string& file) {
  const std::filesystem::path path = file;
  return path.parent_path() / ("." + path.filename().string() + ".part");
}

}  // namespace

CommittedFile::CommittedFile(const std::string& path)
    : path_(path), part_(part_of(path)), journal_(path) {
  fd_ = ::open(part_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) throw std::runtime_error("cannot create " + part_ + ": " + std::strerror(errno));
}

int CommittedFile::publish() {
  if (::rename(part_.c_str(), path_.c_str()) != 0) return errno;
  part_.clear();
  return 0;
}

CommittedFile::~CommittedFile() {
  ::close(fd_);
  if (!part_.empty()) ::unlink(part_.c_str());
}

int CommittedFile::allocate(std::uint64_t bytes, bool bulk, std::uint64_t* address) {
  // Aligned, and with a gap of at least a byte: HDF5 gives back what lies at the very end of a file
  // and takes it again for other things, though a reader may be told to look there.
  const std::uint64_t after = (end_ + bytes) / 8 * 8 + 8;
  int code = take_room(std::max(room_, after + (bulk ? kKeptForStructures : 0)));
  if (code != 0) return code;
  *address = end_;
  end_ = after;
  return 0;
}

int CommittedFile::set_end(std::uint64_t end) {
  const int code = take_room(end);
  if (code == 0) end_ = end;
  return code;
}

int CommittedFile::make_room(std::uint64_t bytes) {
  return take_room(end_ + bytes + kKeptForStructures);
}

int CommittedFile::take_room(std::uint64_t end) {
  if (end <= room_) return 0;
  const std::uint64_t ahead = (end + kStep - 1) / kStep * kStep;
  int code = 0;
  for (const std::uint64_t upto : {ahead, end}) {
    if (over_the_limit(upto)) {
      code = EFBIG;
      continue;
    }
    const auto from = static_cast<off_t>(room_), bytes = static_cast<off_t>(upto - room_);
    do {
      code = ::fallocate(fd_, 0, from, bytes) == 0 ? 0 : errno;
    } while (code == EINTR);
    // Others: a file system that cannot reserve. There a write fails, before what it is for.
    if (code != ENOSPC && code != EFBIG && code != EDQUOT) {
      room_ = upto;
      return 0;
    }
  }
  return code;
}

int CommittedFile::read(std::uint64_t address, void* to, std::size_t bytes) {
  auto* bytes_of = static_cast<unsigned char*>(to);
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n =
        ::pread(fd_, bytes_of + done, bytes - done, static_cast<off_t>(address + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  std::memset(bytes_of + done, 0, bytes - done);
  for (auto p = first_over(address); p != waiting_.end() && p->first < address + bytes; ++p) {
    const std::uint64_t from = std::max(p->first, address);
    const std::uint64_t upto = std::min(p->first + p->second.size(), address + bytes);
    std::memcpy(bytes_of + (from - address), &p->second[from - p->first], upto - from);
  }
  return 0;
}

int CommittedFile::write(std::uint64_t address, const void* from, std::size_t bytes, bool bulk) {
  if (bulk && !waits(address, bytes)) return write_whole(fd_, from, bytes, address);
  put(address, static_cast<const unsigned char*>(from), bytes);
  return 0;
}

// The first piece that ends behind `address`.
CommittedFile::Waiting::iterator CommittedFile::first_over(std::uint64_t address) {
  auto piece = waiting_.upper_bound(address);
  if (piece == waiting_.begin()) return piece;
  const auto before = std::prev(piece);
  return before->first + before->second.size() > address ? before : piece;
}

bool CommittedFile::waits(std::uint64_t address, std::size_t bytes) {
  const auto piece = first_over(address);
  return piece != waiting_.end() && piece->first < address + bytes;
}

// Pieces that overlap become one.
void CommittedFile::put(std::uint64_t address, const unsigned char* from, std::size_t bytes) {
  std::uint64_t begin = address;
  std::vector<unsigned char> joined(from, from + bytes);
  for (auto old = first_over(address); old != waiting_.end() && old->first < address + bytes;
       old = waiting_.erase(old)) {
    const auto& [at, piece] = *old;
    if (at < begin) {
      joined.insert(joined.begin(), piece.begin(),
                    piece.begin() + static_cast<std::ptrdiff_t>(begin - at));
      begin = at;
    }
    const std::uint64_t end = begin + joined.size();
    if (at + piece.size() > end) {
      joined.insert(joined.end(), piece.begin() + static_cast<std::ptrdiff_t>(end - at),
                    piece.end());
    }
  }
  waiting_[begin] = std::move(joined);
}

int CommittedFile::commit() {
  const auto first_new = waiting_.lower_bound(committed_);
  // What is new: nothing that a reader is told of leads there yet.
  for (auto piece = first_new; piece != waiting_.end(); ++piece) {
    const int code = write_whole(fd_, piece->second.data(), piece->second.size(), piece->first);
    if (code != 0) return code;
  }
  waiting_.erase(first_new, waiting_.end());
  const int code = change_in_place();
  if (code != 0) return code;
  waiting_.clear();
  committed_ = end_;
  return 0;
}

// The head of the file, which says how long it is, lies at 0 and comes first.
int CommittedFile::change_in_place() {
  if (waiting_.empty()) return 0;
  int code = journal_.write(waiting_, fd_);
  for (const auto& [address, bytes] : waiting_) {
    if (code == 0) code = write_whole(fd_, bytes.data(), bytes.size(), address);
  }
  return code == 0 ? journal_.forget() : code;
}

int CommittedFile::finish() {
  room_ = end_;
  journal_.remove();
  return ::ftruncate(fd_, static_cast<off_t>(end_)) == 0 ? 0 : errno;
}

}  // namespace leat::hdf5
