// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/mask.hpp"

#include "server/plugins/hdf5/conventions/coordinates.hpp"

namespace leat::hdf5 {

Dataset open_mask(const Target& target, const std::string& name, const MaskKind& kind,
                  hsize_t length) {
  DatasetPlan plan = growing_list(length);
  plan.fill = {0};
  Dataset flags(target.file, name, H5T_NATIVE_INT8, plan);
  flags.attach_iterations(target.scales.iteration());
  if (flags.is_new()) describe_mask(flags, kind, coordinates_of_rows(target.time, name));
  return flags;
}

}  // namespace leat::hdf5
