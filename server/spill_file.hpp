// SPDX-License-Identifier: Apache-2.0
// One iteration, or a part of it, in a file on a disk of the node.
//
// The bytes: SpillHeader; SpilledBlock per block; SpilledParameter per parameter; the characters of
// text parameters; then each block's data at a multiple of 64. A file has its name when it is
// whole, and says all that a server needs which finds it. It is read by the same build of Leat on
// the same node, or refused: blocks are stored as they are in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/status.hpp"
#include "server/iteration_tracker.hpp"

namespace leat::server {

inline constexpr std::uint64_t kSpillMagic = 0x314c4c495053544cULL;  // "LTSPILL1"
inline constexpr std::uint32_t kSpillVersion = 1;

struct SpillHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t block_bytes;  ///< sizeof(SpilledBlock)
  std::int64_t iteration;
  std::uint32_t complete;
  std::uint32_t block_count;
  std::uint32_t parameter_count;
  std::uint32_t reserved;
  std::uint64_t text_bytes;
  std::uint64_t file_bytes;
  std::uint64_t reserved_too;
};

struct SpilledBlock {
  Block block;           ///< its `data` means nothing
  std::uint64_t offset;  ///< of the data in the file
};

struct SpilledParameter {
  std::uint64_t kind;  ///< index of ParameterValue
  std::uint64_t bits;  ///< of the number, or the bytes of the text
};

/// Bytes that write_spill_file will take.
std::uint64_t spill_file_bytes(const Iteration& iteration);

/// Writes the file of the iteration in `folder`, all of its blocks. "" or why not; then nothing is
/// left of it. Waits for the disk.
std::string write_spill_file(const std::string& folder, const Iteration& iteration);

/// The iteration whose blocks lie in a read-only mapping of the file, which its holds keep, and
/// with it `companion`.
Result<Iteration> read_spill_file(const std::string& path,
                                  std::shared_ptr<const void> companion = {});

}  // namespace leat::server
