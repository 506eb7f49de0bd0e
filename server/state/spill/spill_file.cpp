// SPDX-License-Identifier: Apache-2.0
#include "server/state/spill/spill_file.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "lib/base/text.hpp"
#include "lib/node/output_folders.hpp"
#include "lib/os/crc32c.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/memory.hpp"
#include "lib/os/process.hpp"

namespace leat::server {
namespace {

static_assert(sizeof(SpillHeader) == 64);
static_assert(std::is_trivially_copyable_v<Block>, "it is stored as it is in memory");

std::uint64_t aligned(std::uint64_t bytes) { return round_up(bytes, kBlockAlignment); }

std::uint64_t head_bytes(std::size_t blocks) {
  return sizeof(SpillHeader) + blocks * sizeof(SpilledBlock);
}

// All that is in front of the data, which begin at the next multiple of 64.
std::string head_of(const Iteration& iteration) {
  SpillHeader header{kSpillMagic,
                     kSpillVersion,
                     sizeof(SpilledBlock),
                     iteration.number,
                     iteration.blocks.size(),
                     spill_file_bytes(iteration),
                     {}};
  std::string head(reinterpret_cast<const char*>(&header), sizeof header);
  std::uint64_t end = aligned(head_bytes(iteration.blocks.size()));
  for (const Block& block : iteration.blocks) {
    SpilledBlock made{block, end};
    made.block.data = nullptr;
    made.block.file = nullptr;
    made.block.lease = 0;
    head.append(reinterpret_cast<const char*>(&made), sizeof made);
    end += aligned(block.bytes);
  }
  return head;
}

SpillRecord record_for(const Iteration& iteration, const std::string& name,
                       const std::string& head) {
  SpillRecord record{iteration.number, name, os::crc32c(head.data(), head.size())};
  for (const Block& block : iteration.blocks) {
    record.blocks.push_back({block.client, block.rank, block.variable, block.block, block.bytes,
                             os::crc32c(block.data, block.bytes)});
  }
  return record;
}

bool write_all(int file, const Iteration& iteration, const std::string& head) {
  if (!os::write_at(file, head.data(), head.size(), 0)) return false;
  std::uint64_t at = aligned(head.size());
  for (const Block& block : iteration.blocks) {
    if (!os::write_at(file, block.data, block.bytes, at)) return false;
    at += aligned(block.bytes);
  }
  return true;
}

// "" or why these bytes are not there.
std::string read_at(int file, void* to, std::uint64_t bytes, std::uint64_t offset) {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = pread(file, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os::errno_text(errno);
    if (n == 0) return "it ends after " + std::to_string(offset) + " bytes";
    at += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
  return "";
}

}  // namespace

std::uint64_t spill_file_bytes(const Iteration& iteration) {
  std::uint64_t bytes = aligned(head_bytes(iteration.blocks.size()));
  for (const Block& block : iteration.blocks) bytes += aligned(block.bytes);
  return bytes;
}

Result<std::shared_ptr<const SpillFile>> SpillFile::write(int folder, const std::string& name,
                                                          const Iteration& iteration) {
  const std::string head = head_of(iteration);
  const std::uint64_t bytes = spill_file_bytes(iteration);
  os::UniqueFd file = node::make_spill_file(folder, name, bytes);
  if (file && write_all(file.get(), iteration, head)) {
    return std::shared_ptr<const SpillFile>(
        new SpillFile(record_for(iteration, name, head), std::move(file)));
  }
  const int why = errno;
  unlinkat(folder, name.c_str(), 0);
  return Error{Status::ERROR_SYSTEM, os::errno_text(why)};
}

std::shared_ptr<const SpillFile> SpillFile::open(int folder, const std::string& where,
                                                 SpillRecord record) {
  const std::string path = where + "/" + record.file;
  os::UniqueFd fd = node::open_spill_file(folder, record.file);
  const int why = errno;
  const bool is_there = static_cast<bool>(fd);
  const std::shared_ptr<SpillFile> file(new SpillFile(std::move(record), std::move(fd)));
  std::string head;
  const std::string damage = is_there ? file->read_head(&head) : os::errno_text(why);
  if (!damage.empty()) file->damage_ = "\"" + path + "\", to which it was spilled: " + damage;
  return file;
}

void SpillFile::set_offsets() {
  std::uint64_t end = aligned(head_bytes(record_.blocks.size()));
  for (const SpillRecord::One& one : record_.blocks) {
    offsets_.push_back(end);
    end += aligned(one.bytes);
  }
  bytes_ = end;
}

std::string SpillFile::read_head(std::string* head) const {
  head->resize(head_bytes(record_.blocks.size()));
  std::string why = read_at(file_.get(), head->data(), head->size(), 0);
  if (!why.empty()) return why;
  const std::uint32_t sum = os::crc32c(head->data(), head->size());
  if (sum == record_.head_checksum) return "";
  return fmt::format("its head had CRC-32C {:08x} when it was written, and has {:08x} now",
                     record_.head_checksum, sum);
}

Block SpillFile::block_here(Block block, std::uint32_t place) const noexcept {
  block.data = nullptr;
  block.lease = 0;
  block.file = this;
  block.place = place;
  return block;
}

std::vector<Block> SpillFile::blocks() const {
  std::string head;
  const bool whole = damage_.empty() && read_head(&head).empty();
  std::vector<Block> all;
  for (std::uint32_t i = 0; i < record_.blocks.size(); ++i) {
    SpilledBlock spilled{};
    if (whole) std::memcpy(&spilled, head.data() + head_bytes(i), sizeof spilled);
    const SpillRecord::One& one = record_.blocks[i];
    spilled.block.client = one.client;
    spilled.block.rank = one.rank;
    spilled.block.variable = one.variable;
    spilled.block.block = one.block;
    spilled.block.bytes = one.bytes;
    all.push_back(block_here(spilled.block, i));
  }
  return all;
}

std::string SpillFile::read(std::uint32_t place, void* to) const {
  if (!damage_.empty()) return damage_;
  const SpillRecord::One& one = record_.blocks[place];
  const std::string why = read_at(file_.get(), to, one.bytes, offsets_[place]);
  if (!why.empty())
    return fmt::format("the file {}, to which it was spilled: {}", record_.file, why);
  const std::uint32_t sum = os::crc32c(to, one.bytes);
  if (sum == one.checksum) return "";
  return fmt::format(
      "it had CRC-32C {:08x} when it was spilled, its bytes in the file {} have {:08x} now",
      one.checksum, record_.file, sum);
}

namespace {

constexpr std::align_val_t kAlignment{kBlockAlignment};

std::uint64_t room_for(const Block& block) { return round_up(block.bytes, kBlockAlignment); }

}  // namespace

void SpilledBlocks::Free::operator()(char* memory) const noexcept {
  ::operator delete(memory, kAlignment);
}

SpilledBlocks::SpilledBlocks(Iteration* iteration) : iteration_(iteration) {
  std::uint64_t bytes = 0;
  bool any = false;
  for (const Block& block : iteration->blocks) {
    if (!block.file) continue;
    any = true;
    bytes += room_for(block);
  }
  if (!any) return;
  memory_.reset(static_cast<char*>(::operator new(bytes + 1, kAlignment, std::nothrow)));
  const std::string no_memory =
      memory_ ? "" : "no memory is left to read " + format_bytes(bytes) + " from the disk";
  char* at = memory_.get();
  for (Block& block : iteration->blocks) {
    if (!block.file) continue;
    const std::string why = at ? block.file->read(block.place, at) : no_memory;
    if (!why.empty()) {
      problems_.push_back({block.client, block.rank, block.variable, block.block,
                           fmt::format("block {} is lost: {}", block.block, why), block.bytes});
      continue;
    }
    block.data = at;
    at += room_for(block);
  }
  const auto is_lost = [](const Block& block) { return block.file && !block.data; };
  if (std::erase_if(iteration->blocks, is_lost) > 0) iteration->complete = false;
}

SpilledBlocks::~SpilledBlocks() {
  for (Block& block : iteration_->blocks) {
    if (block.file) block.data = nullptr;
  }
}

}  // namespace leat::server
