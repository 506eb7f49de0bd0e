// SPDX-License-Identifier: Apache-2.0
// Files opened with HDF5's own means, and without its locks: there are file systems that have none,
// where HDF5 opens nothing with them; and who looks at a file must not keep others from it. That
// one writer is enough is FileLock's business.
#pragma once

#include <string>

#include "server/plugins/hdf5/handle.hpp"

namespace leat::hdf5 {

/// For reading; `what` could not be done when it cannot be opened.
Id open_plain(const std::string& path, const std::string& what);
/// A new one, in the place of what is there.
Id make_plain(const std::string& path);

/// For programs that read views, before anything else: no locks for the files that HDF5 opens by
/// itself either, and as many files at once as this process may have; a view of a thousand parts
/// has that many.
void prepare_for_views();

}  // namespace leat::hdf5
