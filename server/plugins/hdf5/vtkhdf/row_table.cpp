// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/row_table.hpp"

#include <algorithm>

namespace leat::hdf5::vtk {
namespace {

constexpr hsize_t kAtOnce = 1 << 16;  // numbers

}  // namespace

RowTable::RowTable(hid_t file, const std::string& name, bool has_rows) : has_rows_(has_rows) {
  if (is_dataset(file, name)) data_ = Dataset(file, name);
}

std::vector<std::int64_t> RowTable::row(hsize_t row) {
  if (!has_rows_) row = 0;
  if (!exists()) return {};
  if (row < first_ || row >= first_ + count_) read_from(row);
  if (count_ == 0) return {};
  const auto begin = values_.begin() + static_cast<std::ptrdiff_t>((row - first_) * width_);
  return {begin, begin + static_cast<std::ptrdiff_t>(width_)};
}

void RowTable::read_from(hsize_t row) {
  const std::string what = "cannot read " + data_.name();
  Shape count = extents_of(data_.id());  // it grows
  if (!has_rows_) count.insert(count.begin(), 1);
  width_ = product({count.begin() + 1, count.end()});
  first_ = row;
  count_ = row < count[0] ? std::min(count[0] - row,
                                     std::max<hsize_t>(1, kAtOnce / std::max<hsize_t>(1, width_)))
                          : 0;
  if (count_ == 0) return;
  count[0] = count_;
  Shape start = joined(row, Shape(count.size() - 1, 0));
  if (!has_rows_) {
    count.erase(count.begin());
    start.erase(start.begin());
  }
  values_.resize(count_ * width_);
  if (values_.empty()) return;
  const Id space(H5Dget_space(data_.id()), what),
      memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), what);
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
        what);
  check(H5Dread(data_.id(), H5T_NATIVE_INT64, memory, space, H5P_DEFAULT, values_.data()), what);
}

}  // namespace leat::hdf5::vtk
