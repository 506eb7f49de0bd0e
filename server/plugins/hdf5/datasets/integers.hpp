// SPDX-License-Identifier: Apache-2.0
// Integers that the store itself writes. They have 32 bits in the file, the most that CF-1.8 knows;
// 64 where a number needs them already when the dataset is made. Writing what does not fit is an
// error, not another number. Source: CF Conventions 1.8, section 2.2, "Data Types".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

/// Type for a dataset of such numbers: the one that it has when it is in the file, else one that
/// has room for `largest`.
Id number_type(hid_t file, const std::string& name, std::int64_t largest = 0);
/// `value` as an element of `type`, which number_type() gave.
std::vector<std::uint8_t> number_bytes(hid_t type, std::int64_t value);

/// Whether `value` can be stored in `dataset`.
bool has_room_for(const Dataset& dataset, std::int64_t value);
/// Throws when not.
void expect_room_for(const Dataset& dataset, std::int64_t value);
/// As Dataset::write(); throws before anything is written when one of them does not fit.
void write_numbers(Dataset& dataset, const Shape& start, const Shape& count,
                   const std::vector<std::int64_t>& numbers);
/// As Dataset::read().
std::vector<std::int64_t> read_numbers(const Dataset& dataset, const Shape& start,
                                       const Shape& count);

}  // namespace leat::hdf5
