// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "server/plugins/common/whole_io.hpp"
#include "server/plugins/hdf5/disk/durability.hpp"
#include "server/plugins/hdf5/disk/journal_record.hpp"
#include "server/plugins/hdf5/disk/plain_open.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr char kEnding[] = ".journal";

// Who may not write the file may still be able to put a journal beside it.
bool have_one_owner(int file, int journal) {
  struct stat a {
  }, b{};
  return fstat(file, &a) == 0 && fstat(journal, &b) == 0 && a.st_uid == b.st_uid;
}

[[noreturn]] void fail(const std::string& file, int code) {
  throw std::runtime_error("cannot finish the last commit of " + file + ": " + std::strerror(code));
}

// What is not in the file yet.
Changes missing_in(int fd, Changes changes) {
  std::vector<unsigned char> there;
  std::erase_if(changes, [&](const auto& change) {
    there.resize(change.second.size());
    return read_whole(fd, there.data(), there.size(), change.first) == 0 && there == change.second;
  });
  return changes;
}

// What the journal of `file`, which is open as `fd`, says.
FoundRecord found_beside(const std::string& file, int fd) {
  struct stat facts {};
  if (::lstat(journal_of(file).c_str(), &facts) != 0) return {};
  const OpenedFile journal(journal_of(file), O_RDONLY | O_NOFOLLOW);
  if (!journal.why().empty()) return {FoundRecord::Kind::unusable, {}, {}, journal.why()};
  if (!have_one_owner(fd, journal.fd()))
    return {FoundRecord::Kind::unusable, {}, {}, "belongs to another user than the file"};
  return read_records(journal.fd(), fd);
}

// Makes those of the journal that are missing. True when there were some.
bool make_changes(const std::string& file, int fd, const FoundRecord& found) {
  const Changes changes = missing_in(fd, found.changes);
  int code = 0;
  for (const auto& [address, bytes] : changes) {
    if (code == 0) code = write_whole(fd, bytes.data(), bytes.size(), address);
  }
  // Also when nothing was missing: what is seen may not be on the disk, and the journal goes.
  if (code == 0) code = sync_data(fd);
  if (code != 0) fail(file, code);
  return !changes.empty();
}

// Under a name that nobody removes: "run.h5.journal.damaged", or "run.h5.journal.damaged.1". That
// path, or its own one when it could not be moved.
std::string put_aside(const FilePlace& journal) {
  const std::string stem = journal.name().substr(1) + ".damaged";
  for (int number = 0; number < 1000; ++number) {
    const FilePlace aside =
        journal.called(stem + (number == 0 ? "" : "." + std::to_string(number)));
    const int code = journal.rename_to_new(aside);
    if (code == 0) return aside.path();
    if (code != EEXIST) break;
  }
  return journal.path();
}

}  // namespace

std::string journal_of(const std::string& file) {
  const fs::path path = file;
  return path.parent_path() / ("." + path.filename().string() + kEnding);
}

Journal::Journal(const FilePlace& file, bool durable)
    : place_(file.beside(kEnding)), durable_(durable) {
  make_way();
}

// Whoever made it has seen to it; what cannot be removed, as a folder, must not be in the way.
void Journal::make_way() const {
  const int code = place_.remove();
  if (code != 0 && code != ENOENT) put_aside(place_);
}

// One that somebody has removed is made again.
int Journal::open() {
  if (is_published_ && !place_.names(fd_)) close();
  if (!fd_.is_open()) fd_ = Descriptor(new_.make(place_));
  return fd_.is_open() ? 0 : errno;
}

void Journal::close() {
  fd_ = Descriptor();
  end_ = 0;
  name_is_safe_ = is_published_ = false;
  new_.give_up();
}

void Journal::move_to(const FilePlace& file) {
  remove();
  close();
  place_ = file.beside(kEnding);
  make_way();
}

int Journal::add(const Changes& changes, const KnownBytes& there, int file) {
  int code = open();
  if (code != 0) return code;
  std::string text = make_record(changes, there, file);
  const std::uint64_t bytes = text.size();
  text.append(sizeof(RecordHead), '\0');  // no older record follows
  code = write_whole(fd_, text.data(), text.size(), end_);
  if (code == 0 && durable_) code = sync_data(fd_);
  if (code == 0) code = publish();
  if (code == 0) code = mark(RecordState::ready, end_);
  if (code == 0) end_ += bytes;
  return code;
}

int Journal::publish() {
  int code = is_published_ ? 0 : new_.publish(fd_);
  if (code == EEXIST && place_.remove() == 0) code = new_.publish(fd_);
  is_published_ = code == 0;
  if (code != 0 || !durable_ || name_is_safe_) return code;
  code = place_.sync_folder();
  name_is_safe_ = code == 0;
  return code;
}

// Of the record at `at`, in one write.
int Journal::mark(RecordState state, std::uint64_t at) const {
  const Standing now = standing(state);
  return write_whole(fd_, &now, sizeof now, at + offsetof(RecordHead, standing));
}

// The first record speaks for all.
int Journal::mark_all(RecordState state) {
  const int code = mark(state, 0);
  if (code == 0) end_ = 0;
  return code;
}

int Journal::done() { return fd_.is_open() ? mark_all(RecordState::made) : 0; }

int Journal::forget() {
  if (!fd_.is_open()) return 0;
  const int code = mark_all(RecordState::forgotten);
  return code == 0 && durable_ ? sync_data(fd_) : code;
}

void Journal::remove() {
  if (is_published_ && place_.names(fd_)) place_.remove();
}

bool has_unfinished_commit(const std::string& file) {
  const OpenedFile opened(file, O_RDONLY);
  if (!opened.why().empty()) return false;
  const FoundRecord found = found_beside(file, opened.fd());
  return found.kind == FoundRecord::Kind::unusable ||
         !missing_in(opened.fd(), found.changes).empty();
}

LastCommit finish_last_commit(const std::string& file) {
  struct stat facts {};
  if (::lstat(journal_of(file).c_str(), &facts) != 0) return {};
  const OpenedFile opened(file, O_RDWR);
  if (!opened.why().empty()) throw std::runtime_error(file + " " + opened.why());
  const FoundRecord found = found_beside(file, opened.fd());
  if (found.kind == FoundRecord::Kind::unusable) {
    const std::string why = "its journal " + journal_of(file) + " " + found.why;
    return {LastCommit::Kind::not_finished, why, put_aside(FilePlace(file).beside(kEnding))};
  }
  LastCommit commit;
  if (make_changes(file, opened.fd(), found)) commit.kind = LastCommit::Kind::finished;
  if (found.kind == FoundRecord::Kind::not_begun) commit.kind = LastCommit::Kind::not_begun;
  ::unlink(journal_of(file).c_str());
  FilePlace(file).sync_folder();
  return commit;
}

}  // namespace leat::hdf5
