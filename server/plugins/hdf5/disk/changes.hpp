// SPDX-License-Identifier: Apache-2.0
// Bytes of a file, by address: those that are to be written later, and those known to be there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace leat::hdf5 {

/// Pieces that do not overlap.
using Changes = std::map<std::uint64_t, std::vector<unsigned char>>;

/// The first piece that ends behind `address`.
Changes::const_iterator first_over(const Changes& changes, std::uint64_t address);
Changes::iterator first_over(Changes& changes, std::uint64_t address);

/// Adds a piece; where there is something already, the later one counts.
void put(Changes* changes, std::uint64_t address, const unsigned char* from, std::size_t bytes);

/// Whether something is to be written to one of these addresses.
bool touch(const Changes& changes, std::uint64_t address, std::size_t bytes);

/// Brings what was read from `address` to what it will be.
void make_in(unsigned char* read, const Changes& changes, std::uint64_t address, std::size_t bytes);

/// What a file has at the places that change with each commit, as this process wrote it: it need not
/// be read back to know what a commit changes there, and what not. A structure of 2,616 bytes
/// changes in some forty of them.
class ShadowCopy {
 public:
  /// These are in the file, from now on.
  void note(std::uint64_t address, const unsigned char* from, std::size_t bytes);
  /// Something else may be there.
  void forget(std::uint64_t address, std::size_t bytes);
  void forget_all();
  /// Forgets all when it has become much. What changes often is learnt again with the next commit.
  void limit_size();

  /// Null when not all of them are known.
  const unsigned char* find(std::uint64_t address, std::size_t bytes) const;
  /// What of `pieces`, all of which are known, is not in the file yet: blocks of 64 bytes with
  /// something new in them.
  Changes missing_of(const Changes& pieces) const;

 private:
  Changes pieces_;
  std::size_t bytes_ = 0;  // at least
};

}  // namespace leat::hdf5
