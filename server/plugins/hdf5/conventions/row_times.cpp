// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/row_times.hpp"

#include <cmath>

#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/view/part.hpp"

namespace leat::hdf5 {

std::vector<double> times_of_rows(hid_t file, const std::vector<std::int64_t>& iterations) {
  std::vector<double> times(iterations.begin(), iterations.end());
  const std::string name = coordinate_of_rows(file);
  if (name.empty()) return times;
  const Dataset dataset(file, name.substr(name.front() == '/' ? 1 : 0));
  std::vector<double> said(product(dataset.extents()));
  dataset.read(zeros(dataset.extents()), dataset.extents(), said.data());
  for (std::size_t row = 0; row < times.size() && row < said.size(); ++row) {
    if (std::isfinite(said[row])) times[row] = said[row];
  }
  return times;
}

}  // namespace leat::hdf5
