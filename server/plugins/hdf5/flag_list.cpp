// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/flag_list.hpp"

#include "server/plugins/hdf5/coordinates.hpp"

namespace leat::hdf5 {

Dataset flag_list(const Place& place, const std::string& name, const std::string& about,
                  const std::string& meanings, hsize_t length) {
  DatasetPlan plan = growing_list(length);
  plan.fill = {0};
  Dataset flags(place.file, name, H5T_NATIVE_INT8, plan);
  flags.attach_iterations(place.scales.iteration());
  if (!flags.is_new()) return flags;
  set_attribute(flags.id(), "long_name", about);
  set_attribute(flags.id(), "flag_values", std::vector<std::int8_t>{0, 1});
  set_attribute(flags.id(), "flag_meanings", meanings);
  set_coordinates(flags, coordinates_of_rows(place, name));
  return flags;
}

}  // namespace leat::hdf5
