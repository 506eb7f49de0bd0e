// SPDX-License-Identifier: Apache-2.0
// The run's ledger in its output file.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {

// The run's ledger in a file: its JSON as a list of characters, with a dimension of its own. One
// text of variable length in the place of it makes iris fail on the whole file.

/// What it is called in a file, wherever that has it; "" for none.
std::string name_of_ledger(hid_t file);
std::string ledger_text(hid_t file, const std::string& name);
/// Makes it, marked as one.
void write_ledger_text(hid_t file, const std::string& name, const std::string& json);

// The run's ledger, kept in its output file.

/// How many writes the ledger says are lost.
std::int64_t losses_in(const std::string& json);

/// Writes `json` as the text /leat/ledger, and the number of lost writes that it says as the
/// attribute `lost` of the file. An earlier ledger is replaced; what else is called so stays, and
/// the ledger is called ledger_ then. Nothing for "".
void write_ledger(hid_t file, const std::string& json);

/// Takes both away.
void remove_ledger(hid_t file);

/// Says that what servers before this one had stored in `store` is lost, when the ledger knows of
/// such; else "".
std::string loss_of_stored(const std::string& json, const std::string& store);

/// The same sentence is kept in the new file, for servers that come after this one. Nothing for "".
void note_loss(hid_t file, const std::string& loss);
std::string noted_loss(hid_t file);

}  // namespace leat::hdf5
