// SPDX-License-Identifier: Apache-2.0
// The run's ledger in a file: its JSON as a list of characters, with a dimension of its own. One
// text of variable length in the place of it makes iris fail on the whole file.
#pragma once

#include <string>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

/// What it is called in a file, wherever that has it; "" for none.
std::string name_of_ledger(hid_t file);
/// "" where it is of another form.
std::string ledger_text(hid_t file, const std::string& name);
/// Makes it, marked as one.
void write_ledger_text(hid_t file, const std::string& name, const std::string& json);

}  // namespace leat::hdf5
