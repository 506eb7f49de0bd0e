// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/presence.hpp"

#include "server/plugins/hdf5/conventions/flag_list.hpp"

namespace leat::hdf5 {
namespace {

constexpr char kSuffix[] = "_written";

}  // namespace

Presence::Presence(const Place& place, const std::string& variable, hsize_t rows) : rows_(rows) {
  if (place.scales.has(variable + kSuffix)) make(place, variable);
}

void Presence::note(const Place& place, const std::string& variable, hsize_t row, bool written) {
  if (!table_.exists()) {
    if (written && row == rows_) {
      ++rows_;
      return;
    }
    make(place, variable);
  }
  const std::int8_t value = written;
  table_.grow_to({row + 1});
  table_.write({row}, {1}, &value);
}

void Presence::make(const Place& place, const std::string& variable) {
  table_ =
      flag_list(place, place.scales.take_name(variable + kSuffix), presence_of(variable), rows_);
  if (!table_.is_new()) return;
  const std::vector<std::int8_t> before(rows_, 1);
  table_.write({0}, {rows_}, before.data());
}

}  // namespace leat::hdf5
