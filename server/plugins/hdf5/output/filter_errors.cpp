// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/filter_errors.hpp"

#include <string>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/output/stored_form.hpp"

namespace leat::hdf5 {

FilterErrors::FilterErrors(const leat_run& run, std::uint32_t variable)
    : run_(run), variable_(*leat_variable_at(&run, variable)) {
  const bool has_errors = !option(variable_.options, variable_.option_count, kErrorIn).empty();
  if (has_errors && is_lossy(compression_of(run, variable_))) error_.emplace(variable_.type);
}

void FilterErrors::tell(hid_t root, const std::vector<SoundBlocks>& all) const {
  if (!error_ || !is_dataset(root, variable_.name)) return;
  check(H5Dflush(open_dataset(root, variable_.name)),
        std::string("cannot write ") + variable_.name);
  const std::string errors = option(variable_.options, variable_.option_count, kErrorIn);
  for (const SoundBlocks& each : all) {
    if (leat_variable_at(&run_, each.variable)->name == errors && !each.list.empty())
      add_to_error(*each.list.front(), error_->largest());
  }
}

}  // namespace leat::hdf5
