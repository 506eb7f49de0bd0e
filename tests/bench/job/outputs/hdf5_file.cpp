// SPDX-License-Identifier: Apache-2.0
// HDF5, a file per process, and in it a contiguous dataset per iteration: its fastest way.
#include <unistd.h>

#include <algorithm>

#include "tests/bench/job/outputs/hdf5_error.hpp"
#include "tests/bench/job/outputs/outputs.hpp"

namespace leat::bench {
namespace {

constexpr hsize_t kChunkValues = 128 * 1024;  // 1 MiB

class Hdf5File : public Output {
 public:
  explicit Hdf5File(const Setting& setting)
      : plan_(setting.plan),
        file_(hdf5_checked(
            H5Fcreate(setting.own_file(".h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
            "H5Fcreate")) {
    const hsize_t extent = setting.values();
    space_ = hdf5_checked(H5Screate_simple(1, &extent, nullptr), "H5Screate_simple");
    if (plan_.deflate > 0) compress(extent);
  }

  void write(int iteration, const double* data) override {
    const hid_t set =
        hdf5_checked(H5Dcreate2(file_, std::to_string(iteration).c_str(), H5T_NATIVE_DOUBLE, space_,
                                H5P_DEFAULT, creation_, H5P_DEFAULT),
                     "H5Dcreate2");
    hdf5_checked(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), "H5Dwrite");
    hdf5_checked(H5Dclose(set), "H5Dclose");
    if (plan_.durable) sync();
  }

  void finish() override {
    H5Sclose(space_);
    if (creation_ != H5P_DEFAULT) H5Pclose(creation_);
    hdf5_checked(H5Fclose(file_), "H5Fclose");
  }

 private:
  void compress(hsize_t extent) {
    const hsize_t chunk = std::min<hsize_t>(extent, kChunkValues);
    creation_ = hdf5_checked(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
    hdf5_checked(H5Pset_chunk(creation_, 1, &chunk), "H5Pset_chunk");
    hdf5_checked(H5Pset_shuffle(creation_), "H5Pset_shuffle");
    hdf5_checked(H5Pset_deflate(creation_, static_cast<unsigned>(plan_.deflate)), "H5Pset_deflate");
  }

  void sync() {
    hdf5_checked(H5Fflush(file_, H5F_SCOPE_LOCAL), "H5Fflush");
    int* descriptor = nullptr;
    hdf5_checked(H5Fget_vfd_handle(file_, H5P_DEFAULT, reinterpret_cast<void**>(&descriptor)),
                 "H5Fget_vfd_handle");
    if (fdatasync(*descriptor) != 0) give_up("fdatasync");
  }

  const Plan& plan_;
  const hid_t file_;
  hid_t space_ = -1, creation_ = H5P_DEFAULT;
};

}  // namespace

std::unique_ptr<Output> make_hdf5_file(const Setting& setting) {
  return std::make_unique<Hdf5File>(setting);
}

}  // namespace leat::bench
