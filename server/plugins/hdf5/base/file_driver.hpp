// SPDX-License-Identifier: Apache-2.0
// HDF5 on top of a File of ours: a "virtual file driver".
#pragma once

#include "server/plugins/hdf5/base/handle.hpp"
#include "server/plugins/hdf5/disk/file.hpp"

namespace leat::hdf5 {

/// File access properties under which H5Fcreate writes to `file`, which outlives what is created.
/// HDF5's own file locks do not exist here, so HDF5_USE_FILE_LOCKING has no effect: no reader is
/// kept out.
Id access_list(File* file);

}  // namespace leat::hdf5
