// SPDX-License-Identifier: Apache-2.0
#include "client-api/module/mapped_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/os/process.hpp"

namespace leat::module {
namespace {

constexpr const char *kSegment = "segment", *kConstants = "constants";
// Of other modules, beside those two.
constexpr std::size_t kMostFiles = 16;

Error cannot(const char* what, const std::string& memory) {
  return {Status::ERROR_SYSTEM, std::string("cannot ") + what + " the memory \"" + memory +
                                    "\" in which it lies: " + os::errno_text(errno)};
}

}  // namespace

MappedFiles::MappedFiles(os::UniqueFd segment, os::UniqueFd constants) {
  files_[kSegment].descriptor = std::move(segment);
  files_[kConstants].descriptor = std::move(constants);
}

MappedFiles::~MappedFiles() {
  for (auto& [path, file] : files_) retire(file.map);
  for (const Map& map : retired_) munmap(map.start, map.bytes);
}

void MappedFiles::retire(Map map) {
  if (map.start) retired_.push_back(map);
}

// A path is that of a descriptor of leatd: it may be another file's by now.
Result<MappedFiles::File*> MappedFiles::opened(const std::string& memory) {
  File& file = files_[memory];
  if (memory == kSegment || memory == kConstants || file.seen == turn_) return &file;
  os::UniqueFd now(open(memory.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!now || fstat(now.get(), &facts) != 0) {
    const Error error = cannot("open", memory);
    retire(file.map);
    files_.erase(memory);
    return error;
  }
  file.seen = turn_;
  if (file.descriptor && file.device == facts.st_dev && file.number == facts.st_ino) return &file;
  retire(std::exchange(file.map, {}));
  file.descriptor = std::move(now);
  file.device = facts.st_dev;
  file.number = facts.st_ino;
  return &file;
}

Result<void> MappedFiles::map_all_of(File* file, const std::string& memory, std::uint64_t least) {
  struct stat facts {};
  if (fstat(file->descriptor.get(), &facts) != 0) return cannot("see", memory);
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  if (bytes < least)
    return Error{Status::ERROR_SYSTEM, "leatd says that it lies up to byte " +
                                           std::to_string(least) + " of the memory \"" + memory +
                                           "\", which has " + std::to_string(bytes)};
  void* const start = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file->descriptor.get(), 0);
  if (start == MAP_FAILED) return cannot("map", memory);
  retire(std::exchange(file->map, Map{static_cast<char*>(start), bytes}));
  return {};
}

Result<const void*> MappedFiles::at(const std::string& memory, std::uint64_t offset,
                                    std::uint64_t bytes) {
  if (offset + bytes < offset)
    return Error{Status::ERROR_SYSTEM, "leatd says that it lies beyond all bounds"};
  const Result<File*> file = opened(memory);
  if (!file) return file.error();
  File* const found = *file;
  if (offset + bytes > found->map.bytes) {
    if (const auto mapped = map_all_of(found, memory, offset + bytes); !mapped)
      return mapped.error();
  }
  return static_cast<const void*>(found->map.start + offset);
}

void MappedFiles::end_turn() {
  ++turn_;
  while (files_.size() > kMostFiles + 2) {
    const auto oldest = std::min_element(files_.begin(), files_.end(), [](auto& a, auto& b) {
      const auto age = [](const auto& each) {
        return each.first == kSegment || each.first == kConstants ? UINT64_MAX : each.second.seen;
      };
      return age(a) < age(b);
    });
    retire(oldest->second.map);
    files_.erase(oldest);
  }
  for (const Map& map : retired_) munmap(map.start, map.bytes);
  retired_.clear();
}

}  // namespace leat::module
