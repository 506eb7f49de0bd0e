// SPDX-License-Identifier: Apache-2.0
// What a commit changes in places that readers may be looking at: through the journal, and in few
// writes. Of structures side by side, all of whose bytes are known, what has not changed between
// two changes is written with them: that costs less than a second write.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/plugins/hdf5/disk/changes.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"

namespace leat::hdf5 {

/// Functions that return int return 0 or the errno of what failed.
class InPlace {
 public:
  /// Makes these changes, `first` before `then`, each in the order of addresses. Each byte changes
  /// once, to what the journal says: else a kill in between leaves one that does not fit it. So
  /// `first` gets what `then` has for the same places.
  int make(int file, Journal* journal, Changes* first, const Changes& then);
  /// Nothing was ever written there.
  void note_zeros(std::uint64_t address, std::size_t bytes);
  /// Somebody has written there: structures, as they are now, or other things.
  void note_structure(std::uint64_t address, const unsigned char* from, std::size_t bytes) {
    known_.note(address, from, bytes);
  }
  void note_other(std::uint64_t address, std::size_t bytes) { known_.forget(address, bytes); }

 private:
  int learn(int file, const Changes& places);
  int write(int file, const Changes& changes);

  KnownBytes known_;
};

}  // namespace leat::hdf5
