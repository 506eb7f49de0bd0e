// SPDX-License-Identifier: Apache-2.0
// What the store's own tables say of themselves, in its files and in views of them.
#pragma once

#include <cstdint>
#include <string>

#include "server/plugins/hdf5/conventions/dimension_scales.hpp"

namespace leat::hdf5 {

/// "<variable><suffix>", integers that say something of a variable's blocks.
struct TableKind {
  std::string suffix, about;  ///< `about`: its long_name
  std::int64_t nothing = -1;  ///< what is there where no block is
  std::int64_t largest = 0;   ///< of what is known to come when it is made
  bool is_own = false;        ///< lies in the group of the store's own tables
};

TableKind counts_of_blocks(std::int64_t largest);
TableKind extents_of_blocks(std::int64_t largest);
TableKind extents_of_arrays(std::int64_t largest);

/// Yes or no for each iteration, or block.
struct MaskKind {
  std::string about;     ///< its long_name
  std::string meanings;  ///< a word for 0 and one for 1
};

MaskKind written_mask_of(const std::string& variable);
inline constexpr const char* kStoredSuffix = "_stored";
MaskKind stored_blocks_of(const std::string& variable);

/// Writes the attributes of a new table of `variable`; `coordinates` as for set_coordinates().
void describe_table(const Dataset& table, const std::string& variable, const TableKind& kind,
                    const std::string& coordinates);
/// The same for flags. Source: CF Conventions 1.8, section 3.5, "Flags".
void describe_mask(const Dataset& flags, const MaskKind& kind, const std::string& coordinates);
/// A list of int8 along the iterations, 1 or 0, of `length` zeros when it is new.
Dataset open_mask(const Target& target, const std::string& name, const MaskKind& kind,
                  hsize_t length = 0);

}  // namespace leat::hdf5
