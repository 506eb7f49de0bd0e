// SPDX-License-Identifier: Apache-2.0
// What a filter has lost of a variable in an iteration, for the variable of its errors (stored_form.hpp): that comes behind it, so its value is
// not written yet.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"

namespace leat::hdf5 {

class FilterErrors {
 public:
  /// Before anything of the variable is written in an iteration. Measures nothing where no filter of it loses anything.
  FilterErrors(const leat_run& run, std::uint32_t variable);
  /// After all of it: its chunks are compressed by now. `all`: what is written in the iteration.
  void tell(hid_t root, const std::vector<SoundBlocks>& all) const;

 private:
  const leat_run& run_;
  const leat_variable& variable_;
  std::optional<ErrorOfZfp> error_;
};

}  // namespace leat::hdf5
