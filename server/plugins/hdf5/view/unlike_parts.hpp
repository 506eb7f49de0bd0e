// SPDX-License-Identifier: Apache-2.0
// A variable that the servers of a run have stored as different things: the XML of their nodes
// differs. HDF5 would convert the values of one into the type of the other, wrongly and in silence;
// so the view shows those that are like the first part's, and says what it leaves out.
#pragma once

#include <string>
#include <vector>

#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {

/// Of a view and of a variable in it: what is left out of it, and why, by lines.
inline constexpr const char* kLeftOut = "leat_left_out";

/// The parts that have the variable as another type, form or number of dimensions than the first
/// one that has it. They are left out of it: variable->in_part of them is not open any more, and
/// variable->left_out says why.
void leave_out_unlike(const std::vector<Part>& parts, ViewedVariable* variable);

/// What stands beside the variable in parts that are left out is not shown either.
void forget_tables_of_unlike(View& view, const ViewedVariable& variable);

}  // namespace leat::hdf5
