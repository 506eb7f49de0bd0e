// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "server/plugins/hdf5/disk/durability.hpp"
#include "server/plugins/hdf5/disk/whole_io.hpp"

namespace leat::hdf5 {
namespace {

constexpr char kBack[] = "LEATBAK1", kForth[] = "LEATJRN1";
constexpr std::size_t kMagicBytes = 8;

struct Head {
  char magic[kMagicBytes];
  std::uint64_t inode;
  std::uint64_t bytes;
  std::uint64_t sum;
};

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

std::string record_of(const char* magic, const Changes& changes, std::uint64_t inode) {
  std::string text(sizeof(Head), '\0');
  for (const auto& [address, bytes] : changes) {
    const std::uint64_t place[2] = {address, bytes.size()};
    append(&text, place, sizeof place);
    append(&text, bytes.data(), bytes.size());
  }
  Head head{};
  std::memcpy(head.magic, magic, kMagicBytes);
  head.inode = inode;
  head.bytes = text.size() - sizeof head;
  head.sum = sum_of(text.data() + sizeof head, head.bytes);
  std::memcpy(text.data(), &head, sizeof head);
  return text;
}

bool has_magic(const Head& head, const char* magic) {
  return std::memcmp(head.magic, magic, kMagicBytes) == 0;
}

// The head of the record at `at`; nothing when that is not whole.
std::optional<Head> head_at(const std::string& text, std::size_t at, std::uint64_t inode) {
  Head head{};
  if (text.size() - at < sizeof head) return std::nullopt;
  std::memcpy(&head, text.data() + at, sizeof head);
  at += sizeof head;
  if ((!has_magic(head, kBack) && !has_magic(head, kForth)) || head.inode != inode ||
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

// What is to be done, in this order: take back what came after the last change that stays, the
// youngest first, and make that one.
std::vector<Changes> steps_in(const std::string& text, std::uint64_t inode) {
  std::vector<Changes> steps;
  std::size_t at = 0;
  while (const std::optional<Head> head = head_at(text, at, inode)) {
    at += sizeof *head;
    std::optional<Changes> changes = changes_in(text.data() + at, head->bytes);
    if (!changes) break;
    if (has_magic(*head, kForth)) steps.clear();
    steps.insert(steps.begin(), std::move(*changes));
    at += head->bytes;
  }
  return steps;
}

[[noreturn]] void fail(const std::string& file, int code) {
  throw std::runtime_error("cannot finish the last commit of " + file + ": " + std::strerror(code));
}

int make(const std::vector<Changes>& steps, int fd) {
  for (const Changes& changes : steps) {
    for (const auto& [address, bytes] : changes) {
      const int code = write_whole(fd, bytes.data(), bytes.size(), address);
      if (code != 0) return code;
    }
  }
  return 0;
}

// True when there was something to do.
bool make_changes(const std::string& journal, const std::string& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail(file, errno);
  const std::vector<Changes> steps = steps_in(journal, inode_of(fd));
  int code = make(steps, fd);
  if (code == 0 && !steps.empty()) code = sync_data(fd);
  ::close(fd);
  if (code != 0) fail(file, code);
  return !steps.empty();
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

int Journal::add(Kind kind, const Changes& changes, int file) {
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) return errno;
  std::string text = record_of(kind == Kind::back ? kBack : kForth, changes, inode_of(file));
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

int Journal::forget() {
  if (end_ == 0) return 0;
  const char nothing[kMagicBytes] = {};
  const int code = write_whole(fd_, nothing, sizeof nothing, 0);
  if (code == 0) end_ = 0;
  return code;
}

void Journal::remove() {
  if (fd_ >= 0) ::unlink(path_.c_str());
}

bool has_unfinished_commit(const std::string& file) {
  std::ifstream journal(journal_of(file), std::ios::binary);
  const int fd = journal ? ::open(file.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return false;
  const std::string text((std::istreambuf_iterator<char>(journal)), {});
  const bool has = !steps_in(text, inode_of(fd)).empty();
  ::close(fd);
  return has;
}

bool finish_last_commit(const std::string& file) {
  const std::string path = journal_of(file);
  std::ifstream journal(path, std::ios::binary);
  if (!journal) return false;
  const std::string text((std::istreambuf_iterator<char>(journal)), {});
  const bool had_to = make_changes(text, file);
  ::unlink(path.c_str());
  if (had_to) sync_folder_of(path);
  return had_to;
}

}  // namespace leat::hdf5
