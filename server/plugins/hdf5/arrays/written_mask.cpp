// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/written_mask.hpp"

namespace leat::hdf5 {
namespace {

constexpr char kSuffix[] = "_written";

}  // namespace

WrittenMask::WrittenMask(const Target& target, const std::string& variable, hsize_t rows)
    : rows_(rows) {
  if (target.scales.has(variable + kSuffix)) make(target, variable);
}

void WrittenMask::note(const Target& target, const std::string& variable, hsize_t row,
                       bool written) {
  if (!table_.exists()) {
    if (written && row == rows_) {
      ++rows_;
      return;
    }
    make(target, variable);
  }
  const std::int8_t value = written;
  table_.grow_to({row + 1});
  table_.write({row}, {1}, &value);
}

void WrittenMask::make(const Target& target, const std::string& variable) {
  table_ = open_mask(target, target.scales.take_name(variable + kSuffix), written_mask_of(variable),
                     rows_);
  if (!table_.is_new()) return;
  const std::vector<std::int8_t> before(rows_, 1);
  table_.write({0}, {rows_}, before.data());
}

}  // namespace leat::hdf5
