// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/committed_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "server/plugins/hdf5/disk/copy_content.hpp"
#include "server/plugins/hdf5/disk/whole_io.hpp"

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

}  // namespace

CommittedFile::CommittedFile(const FilePlace& place, Start start, Durability durability)
    : place_(place), durability_(durability), journal_(place, durability == Durability::iteration) {
  fd_ = start == Start::anew ? new_.make(place) : place.open(O_RDWR);
  if (fd_ < 0)
    throw std::runtime_error("cannot open " + place.path() + ": " + std::strerror(errno));
  note_identity();
  const off_t bytes = ::lseek(fd_, 0, SEEK_END);
  room_ = static_cast<std::uint64_t>(bytes < 0 ? 0 : bytes);
  places_ = FileSpace(room_);
}

int CommittedFile::publish() {
  const int code = new_.publish(fd_);
  return code == 0 ? sync() : code;
}

void CommittedFile::note_identity() {
  struct stat facts {};
  if (fstat(fd_, &facts) != 0) return;
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
}

std::string CommittedFile::name_now() const {
  std::error_code unknown;
  const std::string path =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd_), unknown);
  return !unknown && FilePlace(path).names(fd_) ? path : "";
}

int CommittedFile::move_to(const FilePlace& place) {
  int code = place.names(fd_) ? 0 : place.give_to(fd_);
  if (code != 0 && code != EEXIST) code = copy_to(place);
  if (code != 0) return code;
  place_ = place;
  name_is_safe_ = false;
  journal_.move_to(place);
  return sync();
}

// HDF5 and all who write go on with the copy, by the descriptor that they have.
int CommittedFile::copy_to(const FilePlace& place) {
  NewFile copy;
  const int fd = copy.make(place);
  if (fd < 0) return errno;
  struct stat facts {};
  int code = fstat(fd_, &facts) == 0 ? 0 : errno;
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  if (code == 0) code = copy_content(fd_, fd, bytes);
  if (code == 0 && waits_for_disk()) code = sync_data(fd);
  if (code == 0) code = copy.publish(fd);
  if (code == 0 && ::dup3(fd, fd_, O_CLOEXEC) < 0) code = errno;
  ::close(fd);
  if (code == 0) note_identity();
  if (code == 0 && direct_.is_open()) direct_.open(fd_);
  return code;
}

CommittedFile::~CommittedFile() {
  early_.stop();
  ::close(fd_);
}

int CommittedFile::allocate(std::uint64_t bytes, bool bulk, std::uint64_t* address) {
  FileSpace places = places_;
  const std::uint64_t at = places.take(bytes, bulk);
  const std::uint64_t kept = bulk ? kKeptForStructures : 0;
  const int code = take_room(std::max(room_, places.end() + kept));
  if (code != 0) return code;
  // Behind all that was ever given away there are zeros.
  if (!bulk && places.next() > places_.next()) in_place_.note_zeros(at, places.next() - at);
  places_ = places;
  *address = at;
  if (bulk && places_.next() > at + bytes) gathered_.note_gap(at + bytes, places_.next());
  return 0;
}

int CommittedFile::set_end(std::uint64_t end) {
  const int code = take_room(end);
  if (code == 0) places_.set_end(end);
  return code;
}

int CommittedFile::make_room(std::uint64_t bytes) {
  return take_room(size() + bytes + kKeptForStructures);
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
  if (gathered_.touches(address, bytes)) write_gathered();
  const int code = read_whole(fd_, to, bytes, address);
  if (code != 0) return code;
  did(bytes);
  for (const Changes* changes : {&staged_, &waiting_})
    make_in(static_cast<unsigned char*>(to), *changes, address, bytes);
  return 0;
}

int CommittedFile::write(std::uint64_t address, const void* from, std::size_t bytes, bool bulk) {
  did(bytes);
  const bool waits = touch(staged_, address, bytes) || touch(waiting_, address, bytes);
  if (bulk && !waits) return write_bulk(address, from, bytes);
  put(&waiting_, address, static_cast<const unsigned char*>(from), bytes);
  return 0;
}

int CommittedFile::write_bulk(std::uint64_t address, const void* from, std::size_t bytes) {
  in_place_.note_other(address, bytes);
  if (gathered_.fits(from, bytes)) {
    if (gathered_.is_in_the_way(address)) write_gathered();
    gathered_.add(address, from, bytes);
    return 0;
  }
  if (gathered_.touches(address, bytes)) write_gathered();
  return direct_.fits(address, from, bytes) ? direct_.write(address, from, bytes)
                                            : write_whole(fd_, from, bytes, address);
}

void CommittedFile::lend(const std::vector<LentRange>& ranges) {
  gathered_.lend(ranges);
  if (!direct_.is_open()) return;
  const auto large = std::find_if(ranges.begin(), ranges.end(), [](const LentRange& range) {
    return range.bytes >= DirectIo::kSmallest;
  });
  if (large != ranges.end()) places_.set_phase(DirectIo::phase_of(large->begin));
}

// What fails is not what is written now: return_lent() says it.
void CommittedFile::write_gathered() {
  const int code = gathered_.write(fd_);
  if (gathered_failed_ == 0) gathered_failed_ = code;
}

int CommittedFile::return_lent() {
  write_gathered();
  gathered_.lend({});
  return std::exchange(gathered_failed_, 0);
}

int CommittedFile::commit() {
  int code = write_new();
  if (code == 0) code = sync();
  if (code == 0) code = change_in_place();
  if (code != 0) return code;
  places_.commit();
  if (durability_ == Durability::close) early_.upto(fd_, end());
  return 0;
}

// What was written up to now is on the disk, under the file's name when it has one.
int CommittedFile::sync() {
  if (!waits_for_disk()) return 0;
  const int code = sync_data(fd_);
  if (code != 0 || name_is_safe_ || !new_.is_published()) return code;
  const int code_of_name = place_.sync_folder();
  name_is_safe_ = code_of_name == 0;
  return code_of_name;
}

int CommittedFile::stage() {
  const int code = write_new();
  if (code != 0) return code;
  while (!waiting_.empty()) {
    auto piece = waiting_.extract(waiting_.begin());
    if (touch(staged_, piece.key(), piece.mapped().size()))
      put(&staged_, piece.key(), piece.mapped().data(), piece.mapped().size());
    else
      staged_.insert(std::move(piece));
  }
  return 0;
}

// Nothing that a reader is told of leads there yet.
int CommittedFile::write_new() {
  for (auto piece = waiting_.begin(); piece != waiting_.end();) {
    const auto& [address, bytes] = *piece;
    if (!places_.is_new(address)) {
      ++piece;
      continue;
    }
    const int code = write_whole(fd_, bytes.data(), bytes.size(), address);
    if (code != 0) return code;
    in_place_.note_structure(address, bytes.data(), bytes.size());
    piece = waiting_.erase(piece);
  }
  return 0;
}

// The head of the file, which says how long it is, lies at 0 and comes first.
int CommittedFile::change_in_place() {
  if (staged_.empty() && waiting_.empty()) return journal_.forget();
  const int code = in_place_.make(fd_, &journal_, &staged_, waiting_);
  if (code != 0) return code;
  staged_.clear();
  waiting_.clear();
  return journal_.done();
}

// What fsync would do in one step of minutes, in steps that can be told of. It says what failed.
void CommittedFile::write_back() const {
  constexpr std::uint64_t kPiece = std::uint64_t{32} << 20;
  constexpr unsigned kWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  for (std::uint64_t at = 0; at < end(); at += kPiece) {
    if (::sync_file_range(fd_, static_cast<off_t>(at), kPiece, kWait) != 0) return;
    did(kPiece);
  }
}

int CommittedFile::finish() {
  room_ = end();
  int code = ::ftruncate(fd_, static_cast<off_t>(end())) == 0 ? 0 : errno;
  const bool waits = durability_ != Durability::none;
  if (code == 0 && durability_ == Durability::close) write_back();
  if (code == 0 && waits) code = ::fsync(fd_) == 0 ? 0 : errno;
  if (code == 0) journal_.remove();
  return code == 0 && waits ? place_.sync_folder() : code;
}

}  // namespace leat::hdf5
