// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "lib/os/crc32c.hpp"
#include "server/plugins/common/whole_io.hpp"

namespace leat::hdf5 {

// Words far apart, so that no flipped bit makes one of another.
enum class RecordState : std::uint64_t {
  being_written = 0x5752495445202020,  ///< nothing that it is for was begun
  ready = 0x4e4f5754414b4531,          ///< its changes may have been made in part
  made = 0x414c4c4d414445a5,           ///< all of them were
  forgotten = 0x464f52474f54a55a,      ///< they are on the disk
};

namespace {

constexpr std::size_t kMagicBytes = 8, kBootBytes = 40;

// Written at once, so that it is either the old one or the new one.
struct Standing {
  std::uint64_t state;
  char boot[kBootBytes];  ///< of the system, in which it came to be so
  std::uint64_t sum;
};

struct RecordHead {
  char magic[kMagicBytes];
  Standing standing;
  std::uint64_t inode;
  std::uint64_t bytes;  ///< of the changes
  std::uint64_t sum;    ///< of the changes
  std::uint64_t head_sum;
};

struct FoundRecord {
  enum class Kind { none, not_begun, made, changes, unusable } kind = Kind::none;
  Changes changes{}, before{};
  std::string why{};  ///< it is unusable
};

constexpr char kMagic[] = "LEATJRN5";
static_assert(sizeof(Standing) == 56 && sizeof(RecordHead) == 96);

// An id with zeros behind it; all zeros where the system does not tell it.
const std::string& this_boot() {
  static const std::string boot = [] {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    id.resize(kBootBytes);
    return id;
  }();
  return boot;
}

std::uint64_t sum_of(const Standing& standing) {
  return os::crc32c(&standing, offsetof(Standing, sum));
}

// Without the state, which changes.
std::uint64_t sum_of(const RecordHead& head) {
  constexpr std::size_t kBegin = offsetof(RecordHead, inode);
  return os::crc32c(reinterpret_cast<const char*>(&head) + kBegin,
                    offsetof(RecordHead, head_sum) - kBegin, os::crc32c(head.magic, kMagicBytes));
}

std::uint64_t sum_of(std::string_view changes) {
  return os::crc32c(changes.data(), changes.size());
}

std::uint64_t inode_of(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 ? facts.st_ino : 0;
}

std::uint64_t size_of(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

void append(std::string* to, const void* from, std::size_t bytes) {
  to->append(static_cast<const char*>(from), bytes);
}

// Both sides of all changes; false when it is no list of them.
bool take_changes(const std::string& text, FoundRecord* found) {
  found->changes.clear();
  found->before.clear();
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  for (const auto* end = at + text.size(); at < end;) {
    std::uint64_t place[2];
    if (static_cast<std::size_t>(end - at) < sizeof place) return false;
    std::memcpy(place, at, sizeof place);
    at += sizeof place;
    if (place[1] > static_cast<std::size_t>(end - at) / 2) return false;
    found->changes[place[0]].assign(at, at + place[1]);
    at += place[1];
    found->before[place[0]].assign(at, at + place[1]);
    at += place[1];
  }
  return true;
}

FoundRecord unusable(std::string why) {
  return {FoundRecord::Kind::unusable, {}, {}, std::move(why)};
}

bool is_zero(const RecordHead& head) {
  static constexpr RecordHead kZero{};
  return std::memcmp(&head, &kZero, sizeof head) == 0;
}

// "" or why the head cannot be one that was written for the file.
std::string fault_of(const RecordHead& head, std::uint64_t inode) {
  const bool is_known = std::memcmp(head.magic, kMagic, kMagicBytes) == 0;
  if (!is_known && std::memcmp(head.magic, kMagic, kMagicBytes - 1) == 0)
    return "was written by another version of Leat, whose `leat recover` can use it";
  if (!is_known || head.head_sum != sum_of(head) || head.standing.sum != sum_of(head.standing)) {
    return "is damaged: its head is not as it was written";
  }
  if (head.inode == inode) return "";
  return "is of another file, or of the one from which this was copied: of inode " +
         std::to_string(head.inode) + ", and this file has inode " + std::to_string(inode);
}

bool has(const RecordHead& head, RecordState state) {
  return head.standing.state == static_cast<std::uint64_t>(state);
}

// Each byte there is the one that was, or the one that is to be.
bool fits(const FoundRecord& found, int file) {
  std::vector<unsigned char> there;
  for (const auto& [address, wanted] : found.changes) {
    const std::vector<unsigned char>& before = found.before.at(address);
    there.resize(wanted.size());
    if (read_whole(file, there.data(), there.size(), address) != 0) return false;
    for (std::size_t i = 0; i < there.size(); ++i) {
      if (there[i] != wanted[i] && there[i] != before[i]) return false;
    }
  }
  return true;
}

// The changes behind `head`, at `at`. Nothing when they are not whole, and need not be.
std::optional<FoundRecord> changes_behind(const RecordHead& head, int journal, std::uint64_t at,
                                          bool is_strict) {
  FoundRecord found{FoundRecord::Kind::changes};
  std::string text;
  const bool fits_in = head.bytes <= size_of(journal) - at;
  if (fits_in) {
    text.resize(head.bytes);
    if (read_whole(journal, text.data(), text.size(), at) != 0)
      return unusable("cannot be read: " + std::string(std::strerror(errno)));
  }
  if (fits_in && head.sum == sum_of(text) && take_changes(text, &found)) return found;
  if (!is_strict) return std::nullopt;
  return unusable(fits_in ? "is damaged: its changes are not as they were written"
                          : "is damaged: it is cut off");
}

bool is_of_this_boot(const RecordHead& head) {
  return this_boot() == std::string(head.standing.boot, kBootBytes);
}

// The first head speaks for all records.
bool needs_nothing(const RecordHead& first) {
  return has(first, RecordState::forgotten) ||
         (has(first, RecordState::made) && is_of_this_boot(first));
}

Standing standing(RecordState state) {
  Standing made{static_cast<std::uint64_t>(state), {}, 0};
  if (state != RecordState::being_written) std::memcpy(made.boot, this_boot().data(), kBootBytes);
  made.sum = sum_of(made);
  return made;
}

// What is to be at the addresses of `changes`, and what is there now, which is known. `file` is
// the one that it is for.
std::string make_record(const Changes& changes, const ShadowCopy& there, int file) {
  std::string record(sizeof(RecordHead), '\0');
  for (const auto& [address, bytes] : changes) {
    const std::uint64_t place[2] = {address, bytes.size()};
    append(&record, place, sizeof place);
    append(&record, bytes.data(), bytes.size());
    append(&record, there.find(address, bytes.size()), bytes.size());
  }
  const std::string_view text = std::string_view(record).substr(sizeof(RecordHead));
  RecordHead head{};
  std::memcpy(head.magic, kMagic, kMagicBytes);
  head.standing = standing(RecordState::being_written);
  head.inode = inode_of(file);
  head.bytes = text.size();
  head.sum = sum_of(text);
  head.head_sum = sum_of(head);
  std::memcpy(record.data(), &head, sizeof head);
  return record;
}

// What the journal that is open says of the file that is open.
FoundRecord read_records(int journal, int file) {
  FoundRecord last{FoundRecord::Kind::not_begun};
  const std::uint64_t size = size_of(journal), inode = inode_of(file);
  // What is not whole may be so for good reasons, but of a record that was ready in this boot.
  bool is_strict = true;
  for (std::uint64_t at = 0;;) {
    RecordHead head{};
    const bool is_there = size >= at + sizeof head;
    if (is_there && read_whole(journal, &head, sizeof head, at) != 0)
      return unusable("cannot be read");
    if (at > 0 && is_there && is_zero(head)) break;
    std::string fault = is_there ? fault_of(head, inode) : "is damaged: it is cut off";
    if (!fault.empty() && is_strict) return unusable(std::move(fault));
    if (!fault.empty()) break;
    if (at == 0 && needs_nothing(head)) return {FoundRecord::Kind::made};
    if (at == 0) is_strict = has(head, RecordState::ready) && is_of_this_boot(head);
    const bool is_begun = is_strict && !has(head, RecordState::being_written);
    std::optional<FoundRecord> next = changes_behind(head, journal, at + sizeof head, is_begun);
    if (!next) break;
    if (next->kind == FoundRecord::Kind::unusable) return *next;
    last = std::move(*next);
    at += sizeof head + head.bytes;
  }
  if (last.kind == FoundRecord::Kind::changes && !fits(last, file)) {
    return unusable(
        "does not fit the file: where its commit was at work, the file has neither what was there "
        "before nor what was to come; it is of another file, or the file was changed since");
  }
  return last;
}

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
  std::string why;
  const UniqueFd journal = os::open_file(journal_of(file), O_RDONLY | O_NOFOLLOW, &why);
  if (!journal) return unusable(why);
  if (!have_one_owner(fd, journal.get())) return unusable("belongs to another user than the file");
  return read_records(journal.get(), fd);
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
  if (is_published_ && !place_.names(fd_.get())) close();
  if (!fd_) fd_ = new_.make(place_);
  return fd_ ? 0 : errno;
}

void Journal::close() {
  fd_.reset();
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

int Journal::add(const Changes& changes, const ShadowCopy& there, int file) {
  int code = open();
  if (code != 0) return code;
  std::string text = make_record(changes, there, file);
  const std::uint64_t bytes = text.size();
  text.append(sizeof(RecordHead), '\0');  // no older record follows
  code = write_whole(fd_.get(), text.data(), text.size(), end_);
  if (code == 0 && durable_) code = sync_data(fd_.get());
  if (code == 0) code = publish();
  if (code == 0) code = mark(RecordState::ready, end_);
  if (code == 0) end_ += bytes;
  return code;
}

int Journal::publish() {
  int code = is_published_ ? 0 : new_.publish(fd_.get());
  if (code == EEXIST && place_.remove() == 0) code = new_.publish(fd_.get());
  is_published_ = code == 0;
  if (code != 0 || !durable_ || name_is_safe_) return code;
  code = place_.sync_folder();
  name_is_safe_ = code == 0;
  return code;
}

// Of the record at `at`, in one write.
int Journal::mark(RecordState state, std::uint64_t at) const {
  const Standing now = standing(state);
  return write_whole(fd_.get(), &now, sizeof now, at + offsetof(RecordHead, standing));
}

// The first record speaks for all.
int Journal::mark_all(RecordState state) {
  const int code = mark(state, 0);
  if (code == 0) end_ = 0;
  return code;
}

int Journal::done() { return fd_ ? mark_all(RecordState::made) : 0; }

int Journal::forget() {
  if (!fd_) return 0;
  const int code = mark_all(RecordState::forgotten);
  return code == 0 && durable_ ? sync_data(fd_.get()) : code;
}

void Journal::remove() {
  if (is_published_ && place_.names(fd_.get())) place_.remove();
}

bool has_unfinished_commit(const std::string& file) {
  std::string why;
  const UniqueFd opened = os::open_file(file, O_RDONLY, &why);
  if (!opened) return false;
  const FoundRecord found = found_beside(file, opened.get());
  return found.kind == FoundRecord::Kind::unusable ||
         !missing_in(opened.get(), found.changes).empty();
}

LastCommit finish_last_commit(const std::string& file) {
  struct stat facts {};
  if (::lstat(journal_of(file).c_str(), &facts) != 0) return {};
  std::string why;
  const UniqueFd opened = os::open_file(file, O_RDWR, &why);
  if (!opened) throw std::runtime_error(file + " " + why);
  const FoundRecord found = found_beside(file, opened.get());
  if (found.kind == FoundRecord::Kind::unusable) {
    why = "its journal " + journal_of(file) + " " + found.why;
    return {LastCommit::Kind::not_finished, why, put_aside(FilePlace(file).beside(kEnding))};
  }
  LastCommit commit;
  if (make_changes(file, opened.get(), found)) commit.kind = LastCommit::Kind::finished;
  if (found.kind == FoundRecord::Kind::not_begun) commit.kind = LastCommit::Kind::not_begun;
  ::unlink(journal_of(file).c_str());
  FilePlace(file).sync_folder();
  return commit;
}

namespace {

// To copy as much takes as long as a system call.
constexpr std::uint64_t kNear = 4096;

std::uint64_t end_of(const Changes::value_type& piece) { return piece.first + piece.second.size(); }

}  // namespace

int InPlace::make(int file, Journal* journal, Changes* first, const Changes& then) {
  for (auto& [address, bytes] : *first) make_in(bytes.data(), then, address, bytes.size());
  int code = learn(file, *first);
  if (code == 0) code = learn(file, then);
  if (code != 0) return code;
  const Changes of_first = shadow_.missing_of(*first), of_then = shadow_.missing_of(then);
  Changes all = of_first;
  for (const auto& [address, bytes] : of_then) put(&all, address, bytes.data(), bytes.size());
  code = journal->add(all, shadow_, file);
  for (const Changes* changes : {&of_first, &of_then}) {
    if (code == 0) code = write(file, *changes);
  }
  if (code != 0) shadow_.forget_all();
  shadow_.limit_size();
  return code;
}

void InPlace::note_zeros(std::uint64_t address, std::size_t bytes) {
  shadow_.note(address, std::vector<unsigned char>(bytes).data(), bytes);
}

// Reads what is not known.
int InPlace::learn(int file, const Changes& places) {
  std::vector<unsigned char> there;
  for (const auto& [address, bytes] : places) {
    if (shadow_.find(address, bytes.size())) continue;
    there.resize(bytes.size());
    const int code = read_whole(file, there.data(), there.size(), address);
    if (code != 0) return code;
    shadow_.note(address, there.data(), there.size());
  }
  return 0;
}

int InPlace::write(int file, const Changes& changes) {
  for (const auto& [address, bytes] : changes) shadow_.note(address, bytes.data(), bytes.size());
  for (auto next = changes.begin(); next != changes.end();) {
    const std::uint64_t begin = next->first;
    std::uint64_t end = end_of(*next);
    for (++next; next != changes.end() && next->first <= end + kNear &&
                 shadow_.find(begin, end_of(*next) - begin);
         ++next)
      end = end_of(*next);
    const int code = write_whole(file, shadow_.find(begin, end - begin), end - begin, begin);
    if (code != 0) return code;
  }
  return 0;
}

}  // namespace leat::hdf5
