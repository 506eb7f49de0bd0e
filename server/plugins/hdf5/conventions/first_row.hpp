// SPDX-License-Identifier: Apache-2.0
// In which row of the file something was written that does not vary in time. Nothing else says so.
#pragma once

#include "server/plugins/hdf5/base/attributes.hpp"

namespace leat::hdf5 {

inline constexpr const char* kFirstRow = "leat_row";

inline void note_first_row(hid_t dataset, hsize_t row) {
  set_attribute(dataset, kFirstRow, static_cast<std::int64_t>(row));
}

/// 0 where it is not noted: in files of an older Leat.
inline hsize_t first_row(hid_t dataset) {
  return static_cast<hsize_t>(integer_attribute(dataset, kFirstRow, 0));
}

}  // namespace leat::hdf5
