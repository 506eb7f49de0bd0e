// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/checkpoint_source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/os/crc32c.hpp"
#include "lib/os/process.hpp"

namespace leat::client {
namespace {

using checkpoint::Index;
using checkpoint::kPiece;

// Read into memory that stays in the caches, and summed up by the copy out of it: faster than reading where they belong, and a sum after that.
constexpr std::uint64_t kSummed = 128 * 1024;

// In the second place is what all servers agree about: where the first has something else, that is of a run before.
Result<SourcePart> part_of(const checkpoint::Part& found, const std::string& last_folder,
                           std::string_view variable) {
  const checkpoint::Wanted wanted{!variable.empty(), variable};
  SourcePart part{found.name, {}, {}};
  Error why{Status::ERROR_SYSTEM, "it is nowhere"};
  for (const std::string& folder : found.folders) {
    Result<Index> index = checkpoint::read_part(folder, found.name, wanted);
    if (!index) {
      why = index.error();
      continue;
    }
    if (!part.folders.empty() && part.index.sum != index->sum) {
      if (folder != last_folder) continue;
      part.folders.clear();
    }
    part.folders.push_back(folder);
    part.index = std::move(*index);
  }
  if (part.folders.empty()) return why;
  return part;
}

}  // namespace

Result<CheckpointSource> CheckpointSource::open(const checkpoint::Key& key,
                                                const std::vector<std::string>& folders,
                                                std::string_view variable) {
  CheckpointSource source{key, {}};
  for (const checkpoint::Checkpoint& each : checkpoint::checkpoints_in(folders)) {
    if (!(each.key == key)) continue;
    for (const checkpoint::Part& found : each.parts) {
      Result<SourcePart> part = part_of(found, folders.back(), variable);
      if (!part) return part.error();
      source.parts.push_back(std::move(*part));
    }
  }
  if (!source.parts.empty()) return source;
  return Error{Status::ERROR_SYSTEM,
               "the " + checkpoint::title_of(key) + " is not in " + folders.front() +
                   " any more: newer ones have taken its place; read before they are written"};
}

const checkpoint::Variable* CheckpointSource::find(std::string_view variable) const {
  for (const SourcePart& part : parts)
    for (const checkpoint::Variable& each : part.index.variables)
      if (each.name == variable) return &each;
  return nullptr;
}

std::vector<std::string> CheckpointSource::variables() const {
  std::vector<std::string> names;
  for (const SourcePart& part : parts) {
    for (const checkpoint::Variable& each : part.index.variables)
      if (std::find(names.begin(), names.end(), each.name) == names.end())
        names.push_back(each.name);
  }
  return names;
}

std::uint64_t PieceReader::bytes_of(const Block& block, std::uint64_t number) noexcept {
  return std::min(kPiece, block.bytes - number * kPiece);
}

int PieceReader::open(const std::string& path) {
  os::UniqueFd& file = files_[path];
  if (!file) file = os::UniqueFd(::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
  return file.get();
}

std::string PieceReader::why_not(const std::string& path, const Block& block, std::uint64_t number,
                                 char* to) {
  const int file = open(path);
  if (file < 0) return path + ": " + os::errno_text(errno);
  const std::uint64_t bytes = bytes_of(block, number);
  arriving_.resize(kSummed);
  std::uint32_t sum = 0;
  for (std::uint64_t done = 0; done < bytes;) {
    const auto at = static_cast<off_t>(block.offset + number * kPiece + done);
    const ssize_t got = ::pread(file, arriving_.data(), std::min(kSummed, bytes - done), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return path + ": " + os::errno_text(errno);
    if (got == 0) return path + " ends too early";
    sum = os::copy_crc32c(to + done, arriving_.data(), static_cast<std::size_t>(got), sum);
    done += static_cast<std::uint64_t>(got);
  }
  if (sum == block.sums[number]) return "";
  return path + " is damaged: the bytes from " + std::to_string(block.offset + number * kPiece) +
         " on have another checksum than when they were written";
}

Result<void> PieceReader::read(const SourcePart& part, const Block& block, std::uint64_t number,
                               char* to) {
  std::string why;
  for (const std::string& folder : part.folders) {
    const std::string one =
        why_not(folder + "/" + part.name.stem() + checkpoint::kDataEnding, block, number, to);
    if (one.empty()) return {};
    why += (why.empty() ? "" : "; ") + one;
  }
  return Error{Status::ERROR_SYSTEM, why};
}

Result<const char*> PieceReader::read(const SourcePart& part, const Block& block,
                                      std::uint64_t number) {
  if (block_ == &block && number_ == number) return static_cast<const char*>(buffer_.data());
  buffer_.resize(kPiece);
  block_ = nullptr;
  const Result<void> done = read(part, block, number, buffer_.data());
  if (!done) return done.error();
  block_ = &block;
  number_ = number;
  return static_cast<const char*>(buffer_.data());
}

}  // namespace leat::client
