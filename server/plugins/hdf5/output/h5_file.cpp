// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/h5_file.hpp"

#include "server/plugins/hdf5/base/file_driver.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {
namespace {

void prepare() {
  // Otherwise HDF5 would try to flush once more when the process exits, and a full disk would keep
  // it from exiting.
  H5dont_atexit();
  be_quiet();
}

}  // namespace

Id create_file(const std::string& path, CommittedFile* disk) {
  prepare();
  const Id creation = file_creation();
  check(H5Pset_file_space_strategy(creation, H5F_FSPACE_STRATEGY_NONE, false, 1), "file space");
  return Id(H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation, access_list(disk)),
            "cannot create " + path);
}

Id open_file(const std::string& path, CommittedFile* disk) {
  prepare();
  return Id(H5Fopen(path.c_str(), H5F_ACC_RDWR, access_list(disk)), "cannot open " + path);
}

RunName run_of(const std::string& path) {
  CommittedFile disk(path, CommittedFile::Start::existing, Durability::none);
  const Id file = open_file(path, &disk);
  return {text_attribute(file, "session"), integer_attribute(file, kRunNumber, 0)};
}

}  // namespace leat::hdf5
