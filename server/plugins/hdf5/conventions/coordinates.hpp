// SPDX-License-Identifier: Apache-2.0
// Which coordinates belong to a dataset, beside those that its dimensions are named by: what is in
// its attribute `coordinates`. Source: CF Conventions 1.8, chapter 5, "Coordinate Systems", and
// section 2.7.1, "Scope".
#pragma once

#include <string>
#include <vector>

#include "server/plugins/hdf5/conventions/dimension_scales.hpp"

namespace leat::hdf5 {

/// Of the values of a variable, in a dataset that has an iteration dimension or none; "" for none.
std::string coordinates_of(const Target& target, const leat_variable& variable, bool with_rows);
/// Of a variable called `name` whose blocks are those of a table, which has these coordinates.
std::string coordinates_of_blocks(const std::vector<std::string>& of_table,
                                  const std::string& name);
/// Of a table called `name` with a row for each iteration; `time` as in Place.
std::string coordinates_of_rows(const std::string& time, const std::string& name);
/// Writes the attribute, unless `coordinates` is "".
void set_coordinates(const Dataset& dataset, const std::string& coordinates);

}  // namespace leat::hdf5
