// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/filters/stored_filters.hpp"

namespace leat::hdf5 {
namespace {

StoredFilter filter_at(hid_t creation, unsigned place) {
  StoredFilter found;
  std::size_t count = 0;
  H5Pget_filter2(creation, place, &found.flags, &count, nullptr, 0, nullptr, nullptr);
  found.values.resize(count);
  char name[128] = "";
  found.number = H5Pget_filter2(creation, place, &found.flags, &count, found.values.data(),
                                sizeof name, name, nullptr);
  found.name = name;
  return found;
}

}  // namespace

std::vector<StoredFilter> filters_of(hid_t creation) {
  std::vector<StoredFilter> found;
  const int count = H5Pget_nfilters(creation);
  for (int i = 0; i < count; ++i) found.push_back(filter_at(creation, static_cast<unsigned>(i)));
  return found;
}

}  // namespace leat::hdf5
