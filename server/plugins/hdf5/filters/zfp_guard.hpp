// SPDX-License-Identifier: Apache-2.0
// Keeps NaNs and infinities away from zfp.
#pragma once

namespace leat::hdf5 {

/// Makes HDF5 store chunks that hold a NaN or an infinity as they are, without zfp: what zfp makes
/// of the numbers beside one is wrong by any amount, whatever accuracy was asked for. Fill values
/// are NaNs, so this is about blocks that are missing, too. Readers see by HDF5's own means which
/// chunks those are. For all files of this process, until it ends. Throws when zfp is not there.
void guard_zfp();

}  // namespace leat::hdf5
