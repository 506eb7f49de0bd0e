// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/flag_list.hpp"

#include "server/plugins/hdf5/conventions/coordinates.hpp"

namespace leat::hdf5 {

Dataset flag_list(const Place& place, const std::string& name, const FlagKind& kind,
                  hsize_t length) {
  DatasetPlan plan = growing_list(length);
  plan.fill = {0};
  Dataset flags(place.file, name, H5T_NATIVE_INT8, plan);
  flags.attach_iterations(place.scales.iteration());
  if (flags.is_new()) describe_flags(flags, kind, coordinates_of_rows(place.time, name));
  return flags;
}

}  // namespace leat::hdf5
