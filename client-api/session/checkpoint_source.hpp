// SPDX-License-Identifier: Apache-2.0
// What the checkpoint of a run says of one variable, and its bytes: read by the ranks themselves, a few at a time, each piece checked
// against its sum. Knows nothing of a session.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/checkpoint/checkpoints.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::client {

/// A part of the checkpoint, and where it lies.
struct SourcePart {
  checkpoint::PartName name;
  std::vector<std::string> folders;  ///< the first is read, the next where that is damaged
  checkpoint::Index index;           ///< with the blocks of one variable
};

struct CheckpointSource {
  checkpoint::Key key;
  std::vector<SourcePart> parts;

  /// The parts, each with its parameters and its blocks of `variable`; "": without blocks.
  static Result<CheckpointSource> open(const checkpoint::Key& key,
                                       const std::vector<std::string>& folders,
                                       std::string_view variable);

  const checkpoint::Variable* find(std::string_view variable) const;
  std::vector<std::string> variables() const;
};

/// Pieces of blocks, checked; from one of the places where they are whole.
class PieceReader {
 public:
  using Block = checkpoint::Block;

  /// Piece `number` of a block, into memory of its size.
  Result<void> read(const SourcePart& part, const Block& block, std::uint64_t number, char* to);
  /// The same in memory that is valid until the next call.
  Result<const char*> read(const SourcePart& part, const Block& block, std::uint64_t number);

  static std::uint64_t bytes_of(const Block& block, std::uint64_t number) noexcept;

 private:
  /// Of the part's data; below 0: why not.
  int open(const std::string& path);
  std::string why_not(const std::string& path, const Block& block, std::uint64_t number, char* to);

  std::map<std::string, os::UniqueFd> files_;
  std::vector<char> arriving_;  // from a file
  std::vector<char> buffer_;
  const Block* block_ = nullptr;  // of which `buffer_` has the piece `number_`
  std::uint64_t number_ = 0;
};

}  // namespace leat::client
