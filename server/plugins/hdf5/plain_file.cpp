// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/plain_file.hpp"

#include <sys/resource.h>

#include <cstdlib>

namespace leat::hdf5 {
namespace {

Id list_without_locks() {
  Id list(H5Pcreate(H5P_FILE_ACCESS), "making a property list");
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
  check(H5Pset_file_locking(list, false, true), "file locks");
#endif
  return list;
}

}  // namespace

Id open_plain(const std::string& path, const std::string& what) {
  return Id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, list_without_locks()), what);
}

Id make_plain(const std::string& path) {
  return Id(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, list_without_locks()),
            "cannot write " + path);
}

void prepare_for_views() {
  setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace leat::hdf5
