// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/journal.hpp"

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

#include "server/plugins/hdf5/whole_io.hpp"

namespace leat::hdf5 {
namespace {

constexpr char kMagic[] = "LEATJRN1";
constexpr std::size_t kMagicBytes = 8;

struct Head {
  char magic[kMagicBytes];
  std::uint64_t inode;
  std::uint64_t bytes;
  std::uint64_t sum;
};

std::string path_of(const std::string& file) {
  const std::filesystem::path path = file;
  return path.parent_path() / ("." + path.filename().string() + ".journal");
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

std::string text_of(const Changes& changes, std::uint64_t inode) {
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

// Nothing when the journal is not whole.
std::optional<Changes> changes_in(const std::string& text, std::uint64_t inode) {
  Head head{};
  if (text.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, text.data(), sizeof head);
  const char* at = text.data() + sizeof head;
  if (std::memcmp(head.magic, kMagic, kMagicBytes) != 0 || head.inode != inode ||
      head.bytes > text.size() - sizeof head || head.sum != sum_of(at, head.bytes)) {
    return std::nullopt;
  }
  Changes changes;
  for (const char* end = at + head.bytes; at < end;) {
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

[[noreturn]] void fail(const std::string& file, int code) {
  throw std::runtime_error("cannot finish the last commit of " + file + ": " + std::strerror(code));
}

// True when there was a whole journal.
bool make_changes(const std::string& journal, const std::string& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail(file, errno);
  const std::optional<Changes> changes = changes_in(journal, inode_of(fd));
  int code = 0;
  if (changes) {
    for (const auto& [address, bytes] : *changes) {
      if (code == 0) code = write_whole(fd, bytes.data(), bytes.size(), address);
    }
  }
  ::close(fd);
  if (code != 0) fail(file, code);
  return changes.has_value();
}

}  // namespace

Journal::Journal(const std::string& file) : path_(path_of(file)) { ::unlink(path_.c_str()); }

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

int Journal::write(const Changes& changes, int file) {
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) return errno;
  const std::string text = text_of(changes, inode_of(file));
  return write_whole(fd_, text.data(), text.size(), 0);
}

int Journal::forget() {
  const char nothing[kMagicBytes] = {};
  return write_whole(fd_, nothing, sizeof nothing, 0);
}

void Journal::remove() {
  if (fd_ >= 0) ::unlink(path_.c_str());
}

bool finish_last_commit(const std::string& file) {
  const std::string path = path_of(file);
  std::ifstream journal(path, std::ios::binary);
  if (!journal) return false;
  const std::string text((std::istreambuf_iterator<char>(journal)), {});
  const bool was_whole = make_changes(text, file);
  ::unlink(path.c_str());
  return was_whole;
}

}  // namespace leat::hdf5
