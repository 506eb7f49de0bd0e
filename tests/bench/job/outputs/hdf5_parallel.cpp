// SPDX-License-Identifier: Apache-2.0
// Parallel HDF5: one file of all ranks, a dataset per iteration, written collectively.
#include "tests/bench/job/outputs/hdf5_error.hpp"
#include "tests/bench/job/outputs/outputs.hpp"

namespace leat::bench {
namespace {

class Hdf5Parallel : public Output {
 public:
  explicit Hdf5Parallel(const Setting& setting) : plan_(setting.plan) {
    const hid_t access = hdf5_checked(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
    hdf5_checked(H5Pset_fapl_mpio(access, setting.ranks, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    file_ = hdf5_checked(
        H5Fcreate(setting.file("all.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), "H5Fcreate");
    H5Pclose(access);
    collective_ = hdf5_checked(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
    hdf5_checked(H5Pset_dxpl_mpio(collective_, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
    make_spaces(setting);
  }

  void write(int iteration, const double* data) override {
    const hid_t set =
        hdf5_checked(H5Dcreate2(file_, std::to_string(iteration).c_str(), H5T_NATIVE_DOUBLE, whole_,
                                H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     "H5Dcreate2");
    hdf5_checked(H5Dwrite(set, H5T_NATIVE_DOUBLE, own_, whole_, collective_, data), "H5Dwrite");
    hdf5_checked(H5Dclose(set), "H5Dclose");
    // Ends in MPI_File_sync.
    if (plan_.durable) hdf5_checked(H5Fflush(file_, H5F_SCOPE_GLOBAL), "H5Fflush");
  }

  void finish() override {
    H5Sclose(whole_);
    H5Sclose(own_);
    H5Pclose(collective_);
    hdf5_checked(H5Fclose(file_), "H5Fclose");
  }

 private:
  void make_spaces(const Setting& setting) {
    const hsize_t all[2] = {static_cast<hsize_t>(setting.size), setting.values()};
    const hsize_t own[2] = {1, setting.values()};
    const hsize_t at[2] = {static_cast<hsize_t>(setting.rank), 0};
    whole_ = hdf5_checked(H5Screate_simple(2, all, nullptr), "H5Screate_simple");
    own_ = hdf5_checked(H5Screate_simple(2, own, nullptr), "H5Screate_simple");
    hdf5_checked(H5Sselect_hyperslab(whole_, H5S_SELECT_SET, at, nullptr, own, nullptr),
                 "H5Sselect_hyperslab");
  }

  const Plan& plan_;
  hid_t file_ = -1, whole_ = -1, own_ = -1, collective_ = -1;
};

}  // namespace

std::unique_ptr<Output> make_hdf5_parallel(const Setting& setting) {
  return std::make_unique<Hdf5Parallel>(setting);
}

}  // namespace leat::bench
