// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/row_table.hpp"

#include <algorithm>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {
namespace {

constexpr hsize_t kAtOnce = 1 << 16;  // numbers

}  // namespace

RowTable::RowTable(hid_t file, const std::string& name, bool has_rows)
    : name_(name), has_rows_(has_rows) {
  if (is_dataset(file, name)) data_ = open_dataset(file, name);
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
  Shape count = extents_of(data_);  // it grows
  if (!has_rows_) count = joined(1, count);
  width_ = product(behind(count));
  first_ = row;
  count_ = row < count[0] ? std::min(count[0] - row,
                                     std::max<hsize_t>(1, kAtOnce / std::max<hsize_t>(1, width_)))
                          : 0;
  count[0] = count_;
  const Shape start = joined(row, zeros(behind(count)));
  values_.resize(count_ * width_);
  read_part(data_, H5T_NATIVE_INT64, has_rows_ ? start : behind(start),
            has_rows_ ? count : behind(count), values_.data(), "cannot read " + name_);
}

}  // namespace leat::hdf5
