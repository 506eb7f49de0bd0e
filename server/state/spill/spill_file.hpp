// SPDX-License-Identifier: Apache-2.0
// Iterations, or parts of them, in files on a disk of the node, and in memory again while plugins work on them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/journal/records.hpp"

namespace leat::server {

// One iteration, or a part of it, in a file on a disk of the node.
//
// The bytes: SpillHeader; SpilledBlock per block; then each block's data at a multiple of 64. What
// a file must hold is said elsewhere, by its SpillRecord: nothing in it is believed without the
// checksums there. It is read by the same build of Leat on the same node: blocks are stored as they
// are in memory. Read with pread, not through a mapping, so that a disk that fails is an error.

inline constexpr std::uint64_t kSpillMagic = 0x324c4c495053544cULL;  // "LTSPILL2"
inline constexpr std::uint32_t kSpillVersion = 3;

struct SpillHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t block_bytes;  ///< sizeof(SpilledBlock)
  std::int64_t iteration;
  std::uint64_t block_count;
  std::uint64_t file_bytes;
  std::uint64_t reserved[3];
};

struct SpilledBlock {
  Block block;           ///< its `data`, `file` and `lease` mean nothing
  std::uint64_t offset;  ///< of the data in the file
};

/// Bytes of a file for it.
std::uint64_t spill_file_bytes(const Iteration& iteration);

/// Stays open, so that it can be read although somebody has removed it. Whoever made it removes it.
class SpillFile {
 public:
  /// A new file with all blocks of the iteration; when it cannot be, nothing is left of it. Waits
  /// for the disk.
  static Result<std::shared_ptr<const SpillFile>> write(int folder, const std::string& name,
                                                        const Iteration& iteration);
  /// As a server that has died left it. `where` is the folder's name, for messages. A file that is
  /// missing or damaged is no error yet: read() says so of each block.
  static std::shared_ptr<const SpillFile> open(int folder, const std::string& where,
                                               SpillRecord record);
  SpillFile(const SpillFile&) = delete;

  const SpillRecord& record() const noexcept { return record_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint32_t checksum(std::uint32_t place) const { return record_.blocks[place].checksum; }

  /// This block, as it is while it lies here.
  Block block_here(Block block, std::uint32_t place) const noexcept;
  /// All of them, of a file that was opened; of one whose head is lost, only what the record says.
  std::vector<Block> blocks() const;
  /// Copies the data of the block at `place` to `to`. "" or why they are lost.
  std::string read(std::uint32_t place, void* to) const;

 private:
  SpillFile(SpillRecord record, os::UniqueFd file)
      : record_(std::move(record)), file_(std::move(file)) {
    set_offsets();
  }
  void set_offsets();
  std::string read_head(std::string* head) const;

  SpillRecord record_;
  os::UniqueFd file_;
  std::uint64_t bytes_ = 0;
  std::vector<std::uint64_t> offsets_;  // of the data, by place
  std::string damage_;                  // why nothing in it can be read
};

// The blocks of an iteration that lie on the disk, in memory while plugins work on it: one
// iteration at a time has memory beside the segment. Waits for the disk: for the pipeline's thread.
class SpilledBlocks {
 public:
  /// Reads them. What cannot be read as it was written is taken out of the iteration, which is not
  /// complete then, and is in problems().
  explicit SpilledBlocks(Iteration* iteration);
  SpilledBlocks(const SpilledBlocks&) = delete;
  /// The blocks' data are null again.
  ~SpilledBlocks();

  const std::vector<BlockProblem>& problems() const noexcept { return problems_; }

 private:
  struct Free {
    void operator()(char* memory) const noexcept;
  };

  Iteration* iteration_;
  std::unique_ptr<char, Free> memory_;
  std::vector<BlockProblem> problems_;
};

}  // namespace leat::server
