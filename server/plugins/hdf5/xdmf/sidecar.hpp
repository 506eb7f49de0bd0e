// SPDX-License-Identifier: Apache-2.0
// The sidecar of an HDF5 file: "run.xmf" beside "run.h5". It is written under another name and then
// gets its own, so that whoever opens it finds a whole one; and it refers to its file by name, so
// that the two go everywhere together.
#pragma once

#include <string>

#include "server/plugins/hdf5/xdmf/document.hpp"

namespace leat::hdf5::xdmf {

/// The value of the store's option "xdmf".
bool is_wanted(const leat_run& run);

/// "run.xmf" of "run.h5".
std::string sidecar_of(const std::string& path);

/// Makes the sidecar of `path`, which is open as `file`. `maker`: who else makes one at the same
/// time has another. Calls `progress` with each step. Replaces none but an older one of the same
/// file; throws when it cannot be made.
Facts make_sidecar(hid_t file, const leat_run& run, const std::string& path,
                   const std::string& maker, const std::function<void()>& progress);
/// The same for a file that says what its run is.
Facts make_sidecar(const std::string& path, const std::string& maker);
/// The same where the run wanted one, or there is one. Never throws: returns a line for the user,
/// "" when there is nothing to say.
std::string remade_sidecar(const std::string& path, const std::string& maker);
/// "run.xmf: 41 steps", a line.
std::string described(const std::string& path, const Facts& facts);

/// `path` is about to be called `kept`: so is what it is called in its sidecar, which goes along.
/// Whoever is killed in the midst of it leaves no sidecar that refers to another file. Never
/// throws: where that cannot be, it is removed.
void set_aside_sidecar(const std::string& path, const std::string& kept);
/// Removes the sidecar of `path`, when there is one.
void remove_sidecar(const std::string& path);

}  // namespace leat::hdf5::xdmf
