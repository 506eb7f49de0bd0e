// SPDX-License-Identifier: Apache-2.0
// The checkpoints in one folder or two: which there are, which is the newest, and why one is not whole.
//
// A checkpoint has a part of each server: checkpoint-<iteration>.<generation>.<part>.data, and the same with .index. The index
// is the last that comes into the folder, in one step, so a part without one is none. Each run has a greater generation than
// all before it in the folder: what it writes is newer, also when it has begun anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/checkpoint/index.hpp"

namespace leat::checkpoint {

inline constexpr char kIndexEnding[] = ".index", kDataEnding[] = ".data";
inline constexpr char kUnfinished[] = ".new";  ///< behind the name of a file that is being written

/// Newer ones are greater.
struct Key {
  std::int64_t generation = 0, iteration = 0;

  friend bool operator==(const Key& a, const Key& b) = default;
  friend bool operator<(const Key& a, const Key& b) {
    return std::tie(a.generation, a.iteration) < std::tie(b.generation, b.iteration);
  }
};

struct PartName {
  Key key;
  std::string part;  ///< of its server: "0", its first rank

  /// Without the ending.
  std::string stem() const;
};

struct FileName {
  PartName name;
  bool is_index = false, is_unfinished = false;
};

/// Nothing for a file that is no part of a checkpoint.
std::optional<FileName> name_in(const std::string& file);

/// All files of checkpoints in a folder. None when it cannot be read.
std::vector<FileName> files_in(const std::string& folder);

/// A part, and where it is.
struct Part {
  PartName name;
  std::vector<std::string> folders;
};

struct Checkpoint {
  Key key;
  std::vector<Part> parts;
};

/// Those that have an index, the newest first.
std::vector<Checkpoint> checkpoints_in(const std::vector<std::string>& folders);

/// An error when it cannot be read, or its data are shorter than they were.
Result<Index> read_part(const std::string& folder, const PartName& name, const Wanted& wanted);

/// "", or why the run cannot go on from it. `first`: filled with what one of its parts says, without blocks.
std::string why_not_whole(const Checkpoint& checkpoint, Index* first = nullptr);

/// "checkpoint of iteration 300"
std::string title_of(const Key& key);

}  // namespace leat::checkpoint
