// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/h5_file.hpp"

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {
namespace {

// A node of the tree that finds the chunks of a dataset has room for twice as many, and is whole in
// the file from the first chunk on: 2.6 KiB for HDF5's own 32, where many a dataset has one chunk.
constexpr unsigned kHalfOfNode = 4;

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
  check(H5Pset_istore_k(creation, kHalfOfNode), "nodes of chunks");
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
