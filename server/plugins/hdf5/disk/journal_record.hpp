// SPDX-License-Identifier: Apache-2.0
// Records of a journal (journal.hpp), and what can be said of those that are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "server/plugins/hdf5/disk/changes.hpp"

namespace leat::hdf5 {

inline constexpr std::size_t kMagicBytes = 8, kBootBytes = 40;

/// Words far apart, so that no flipped bit makes one of another.
enum class RecordState : std::uint64_t {
  being_written = 0x5752495445202020,  ///< nothing that it is for was begun
  ready = 0x4e4f5754414b4531,          ///< its changes may have been made in part
  made = 0x414c4c4d414445a5,           ///< all of them were
  forgotten = 0x464f52474f54a55a,      ///< they are on the disk
};

/// Written at once, so that it is either the old one or the new one.
struct Standing {
  std::uint64_t state;
  char boot[kBootBytes];  ///< of the system, in which it came to be so
  std::uint64_t sum;
};
Standing standing(RecordState state);

struct RecordHead {
  char magic[kMagicBytes];
  Standing standing;
  std::uint64_t inode;
  std::uint64_t bytes;  ///< of the changes
  std::uint64_t sum;    ///< of the changes
  std::uint64_t head_sum;
};

/// What is to be at the addresses of `changes`, and what is there now, which is known. `file` is
/// the one that it is for.
std::string make_record(const Changes& changes, const KnownBytes& there, int file);

struct FoundRecord {
  enum class Kind { none, not_begun, made, changes, unusable } kind = Kind::none;
  Changes changes{}, before{};
  std::string why{};  ///< it is unusable
};
/// What the journal that is open says of the file that is open.
FoundRecord read_records(int journal, int file);

}  // namespace leat::hdf5
