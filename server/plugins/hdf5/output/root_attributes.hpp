// SPDX-License-Identifier: Apache-2.0
// What the file says of itself as a whole. Source of most names: CF Conventions 1.8, section 2.6.2,
// "Description of file contents".
#pragma once

#include <string>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {

/// Which run writes it, and by which Leat; run_of() reads it.
void describe_writer(hid_t file, const leat_run& run);
/// Of a new file: that, and all that views and readers of netCDF want.
void describe_file(hid_t file, const leat_run& run);
/// Of a part: what its view is made by.
void describe_part(hid_t file, const leat_run& run, const std::string& view);
/// Of one that this process goes on with for one that died: a line more in `history`.
void note_continued(hid_t file, const leat_run& run);

}  // namespace leat::hdf5
