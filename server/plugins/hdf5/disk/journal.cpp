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
#include <vector>

#include "server/plugins/hdf5/disk/durability.hpp"
#include "server/plugins/hdf5/disk/whole_io.hpp"

namespace leat::hdf5 {
namespace {

constexpr char kMagic[] = "LEATJRN2";
constexpr std::size_t kMagicBytes = 8;
constexpr std::size_t kBootBytes = 40;

struct Head {
  char magic[kMagicBytes];
  char made_in[kBootBytes];  // the boot in which the changes were made; zeros before
  std::uint64_t inode;
  std::uint64_t bytes;
  std::uint64_t sum;
};

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

bool is_made(const Head& head) {
  return head.made_in[0] != 0 && this_boot() == std::string(head.made_in, kBootBytes);
}

std::uint64_t sum_of(const char* from, std::size_t bytes) {
  std::uint64_t sum = 14695981039346656037u;
  for (std::size_t i = 0; i < bytes; ++i) {
    sum = (sum ^ static_cast<unsigned char>(from[i])) * 1099511628211u;
  }
  return sum;
}

void append(std::string* to, const void* from, std::size_t bytes) {
  to->append(static_cast<const char*>(from), bytes);
}

std::uint64_t inode_of(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 ? facts.st_ino : 0;
}

std::string record_of(const Changes& changes, std::uint64_t inode) {
  std::string text(sizeof(Head), '\0');
  for (const auto& [address, bytes] : changes) {
    const std::uint64_t place[2] = {address, bytes.size()};
    append(&text, place, sizeof place);
    append(&text, bytes.data(), bytes.size());
  }
  Head head{};
  std::memcpy(head.magic, kMagic, kMagicBytes);
  head.inode = inode;
  head.bytes = text.size() - sizeof head;
  head.sum = sum_of(text.data() + sizeof head, head.bytes);
  std::memcpy(text.data(), &head, sizeof head);
  return text;
}

// The head of the record at `at`; nothing when that is not whole.
std::optional<Head> head_at(const std::string& text, std::size_t at, std::uint64_t inode) {
  Head head{};
  if (text.size() - at < sizeof head) return std::nullopt;
  std::memcpy(&head, text.data() + at, sizeof head);
  at += sizeof head;
  if (std::memcmp(head.magic, kMagic, kMagicBytes) != 0 || head.inode != inode ||
      head.bytes > text.size() - at || head.sum != sum_of(text.data() + at, head.bytes)) {
    return std::nullopt;
  }
  return head;
}

std::optional<Changes> changes_in(const char* at, std::size_t bytes) {
  Changes changes;
  for (const char* end = at + bytes; at < end;) {
    std::uint64_t place[2];
    if (static_cast<std::size_t>(end - at) < sizeof place) return std::nullopt;
    std::memcpy(place, at, sizeof place);
    at += sizeof place;
    if (place[1] > static_cast<std::size_t>(end - at)) return std::nullopt;
    changes[place[0]].assign(at, at + place[1]);
    at += place[1];
  }
  return changes;
}

// Those of the last whole record, unless they were made.
Changes changes_of(const std::string& text, std::uint64_t inode) {
  Changes last;
  std::size_t at = 0;
  while (const std::optional<Head> head = head_at(text, at, inode)) {
    if (is_made(*head)) return {};
    at += sizeof *head;
    std::optional<Changes> changes = changes_in(text.data() + at, head->bytes);
    if (!changes) break;
    last = std::move(*changes);
    at += head->bytes;
  }
  return last;
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

// What is to be done for the file that is open as `fd`.
Changes unfinished(const std::string& file, int fd) {
  std::ifstream journal(journal_of(file), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(journal)), {});
  return missing_in(fd, changes_of(text, inode_of(fd)));
}

// True when there was something to do.
bool make_changes(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) fail(file, errno);
  const Changes changes = unfinished(file, fd);
  int code = 0;
  for (const auto& [address, bytes] : changes) {
    if (code == 0) code = write_whole(fd, bytes.data(), bytes.size(), address);
  }
  // Also when nothing was missing: what is seen may not be on the disk, and the journal goes.
  if (code == 0) code = sync_data(fd);
  ::close(fd);
  if (code != 0) fail(file, code);
  return !changes.empty();
}

}  // namespace

std::string journal_of(const std::string& file) {
  const std::filesystem::path path = file;
  return path.parent_path() / ("." + path.filename().string() + ".journal");
}

Journal::Journal(const std::string& file, bool durable)
    : path_(journal_of(file)), durable_(durable) {
  ::unlink(path_.c_str());
}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

int Journal::add(const Changes& changes, int file) {
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) return errno;
  std::string text = record_of(changes, inode_of(file));
  const std::uint64_t bytes = text.size();
  text.append(sizeof(Head), '\0');  // no older record follows
  int code = write_whole(fd_, text.data(), text.size(), end_);
  if (code == 0 && durable_) code = sync();
  if (code == 0) end_ += bytes;
  return code;
}

int Journal::sync() {
  int code = fd_ < 0 ? 0 : sync_data(fd_);
  if (code != 0 || fd_ < 0 || name_is_safe_) return code;
  code = sync_folder_of(path_);
  name_is_safe_ = code == 0;
  return code;
}

// The first head speaks for all records.
int Journal::done() {
  const int code = put_at_begin(this_boot().data(), kBootBytes, offsetof(Head, made_in));
  if (code == 0) end_ = 0;
  return code;
}

int Journal::forget() {
  const char nothing[kMagicBytes] = {};
  const int code = put_at_begin(nothing, sizeof nothing, offsetof(Head, magic));
  if (code == 0) end_ = 0;
  return code == 0 && durable_ ? sync() : code;
}

int Journal::put_at_begin(const void* from, std::size_t bytes, std::size_t at) {
  return fd_ < 0 ? 0 : write_whole(fd_, from, bytes, at);
}

void Journal::remove() {
  if (fd_ >= 0) ::unlink(path_.c_str());
}

bool has_unfinished_commit(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool has = !unfinished(file, fd).empty();
  ::close(fd);
  return has;
}

bool finish_last_commit(const std::string& file) {
  const std::string journal = journal_of(file);
  if (::access(journal.c_str(), F_OK) != 0) return false;
  const bool had_to = make_changes(file);
  ::unlink(journal.c_str());
  sync_folder_of(journal);
  return had_to;
}

}  // namespace leat::hdf5
