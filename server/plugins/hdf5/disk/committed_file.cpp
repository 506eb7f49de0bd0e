// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/committed_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "server/plugins/common/whole_io.hpp"

namespace leat::hdf5 {
namespace {

// Bulk data leave so much for the structures that describe them.
constexpr std::uint64_t kKeptForStructures = 512ull * 1024;
}  // namespace

CommittedFile::CommittedFile(const FilePlace& place, Start start, Durability durability)
    : file_(place, start == Start::anew),
      durability_(durability),
      journal_(place, durability == Durability::iteration),
      direct_writer_(file_.fd()) {
  const off_t bytes = ::lseek(file_.fd(), 0, SEEK_END);
  reservation_ = Reservation(static_cast<std::uint64_t>(bytes < 0 ? 0 : bytes));
  places_ = FileSpace(reservation_.end());
}

int CommittedFile::publish() {
  const int code = file_.publish();
  return code == 0 ? sync() : code;
}

int CommittedFile::move_to(const FilePlace& place) {
  const int code = file_.move_to(place, waits_for_disk());
  if (code != 0) return code;
  direct_writer_.move_to(file_.fd());
  journal_.move_to(place);
  return sync();
}

int CommittedFile::allocate(std::uint64_t bytes, bool bulk, std::uint64_t* address) {
  FileSpace places = places_;
  const std::uint64_t at = places.take(bytes, bulk);
  const std::uint64_t kept = bulk ? kKeptForStructures : 0;
  const int code = reservation_.take(file_.fd(), places.end() + kept);
  if (code != 0) return code;
  // Behind all that was ever given away there are zeros.
  if (!bulk && places.next() > places_.next()) in_place_.note_zeros(at, places.next() - at);
  places_ = places;
  *address = at;
  if (bulk && places_.next() > at + bytes) combiner_.note_gap(at + bytes, places_.next());
  return 0;
}

int CommittedFile::set_end(std::uint64_t end) {
  const int code = reservation_.take(file_.fd(), end);
  if (code == 0) places_.set_end(end);
  return code;
}

int CommittedFile::make_room(std::uint64_t bytes) {
  return reservation_.take(file_.fd(), size() + bytes + kKeptForStructures);
}

int CommittedFile::read(std::uint64_t address, void* to, std::size_t bytes) {
  if (combiner_.touches(address, bytes)) combiner_.write(file_.fd());
  const int code = read_whole(file_.fd(), to, bytes, address);
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
  if (combiner_.fits(from, bytes)) {
    if (combiner_.is_in_the_way(address)) combiner_.write(file_.fd());
    combiner_.add(address, from, bytes);
    return 0;
  }
  if (combiner_.touches(address, bytes)) combiner_.write(file_.fd());
  return direct_writer_.take(address, from, bytes) ? direct_writer_.write(address, from, bytes)
                                                   : write_whole(file_.fd(), from, bytes, address);
}

void CommittedFile::lend(const std::vector<LentRange>& ranges, std::uint64_t waiting) {
  combiner_.lend(ranges);
  if (const auto phase = direct_writer_.begin(ranges, waiting)) places_.set_phase(*phase);
}

int CommittedFile::return_lent() {
  combiner_.write(file_.fd());
  combiner_.lend({});
  return combiner_.take_failure();
}

int CommittedFile::commit() {
  int code = write_new();
  if (code == 0) code = sync();
  if (code == 0) code = change_in_place();
  if (code != 0) return code;
  places_.commit();
  if (durability_ == Durability::close) early_.upto(file_.fd(), end());
  return 0;
}

// What was written up to now is on the disk, under the file's name when it has one.
int CommittedFile::sync() {
  if (!waits_for_disk()) return 0;
  const int code = sync_data(file_.fd());
  return code == 0 ? file_.sync_name() : code;
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
    const int code = write_whole(file_.fd(), bytes.data(), bytes.size(), address);
    if (code != 0) return code;
    in_place_.note_structure(address, bytes.data(), bytes.size());
    piece = waiting_.erase(piece);
  }
  return 0;
}

// The head of the file, which says how long it is, lies at 0 and comes first.
int CommittedFile::change_in_place() {
  if (staged_.empty() && waiting_.empty()) return journal_.forget();
  const int code = in_place_.make(file_.fd(), &journal_, &staged_, waiting_);
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
    if (::sync_file_range(file_.fd(), static_cast<off_t>(at), kPiece, kWait) != 0) return;
    did(kPiece);
  }
}

int CommittedFile::begin_turn() {
  const off_t bytes = ::lseek(file_.fd(), 0, SEEK_END);
  if (bytes < 0) return errno;
  reservation_ = Reservation(static_cast<std::uint64_t>(bytes));
  places_.go_on_behind(reservation_.end());
  in_place_.forget_all();
  return 0;
}

// The journal's changes are on the disk before it goes, where that is promised.
int CommittedFile::end_turn() {
  reservation_.cut(end());
  int code = ::ftruncate(file_.fd(), static_cast<off_t>(end())) == 0 ? 0 : errno;
  if (code == 0 && waits_for_disk()) code = sync_data(file_.fd());
  if (code == 0) journal_.remove();
  return code;
}

int CommittedFile::finish() {
  reservation_.cut(end());
  int code = ::ftruncate(file_.fd(), static_cast<off_t>(end())) == 0 ? 0 : errno;
  const bool waits = durability_ != Durability::none;
  if (code == 0 && durability_ == Durability::close) write_back();
  if (code == 0 && waits) code = ::fsync(file_.fd()) == 0 ? 0 : errno;
  if (code == 0) journal_.remove();
  return code == 0 && waits ? file_.sync_folder() : code;
}

}  // namespace leat::hdf5
