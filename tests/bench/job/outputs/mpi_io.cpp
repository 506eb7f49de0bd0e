// SPDX-License-Identifier: Apache-2.0
// MPI-IO: one file of all ranks, written collectively.
#include "tests/bench/job/outputs/outputs.hpp"

namespace leat::bench {
namespace {

void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) give_up(call);
}

class MpiIo : public Output {
 public:
  explicit MpiIo(const Setting& setting) : setting_(setting) {
    check_mpi(MPI_File_open(setting.ranks, setting.file("all.bin").c_str(),
                            MPI_MODE_WRONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file_),
              "MPI_File_open");
  }

  void write(int iteration, const double* data) override {
    const MPI_Offset block = MPI_Offset{iteration} * setting_.size + setting_.rank;
    check_mpi(
        MPI_File_write_at_all(file_, block * static_cast<MPI_Offset>(setting_.plan.bytes), data,
                              static_cast<int>(setting_.values()), MPI_DOUBLE, MPI_STATUS_IGNORE),
        "MPI_File_write_at_all");
    if (setting_.plan.durable) check_mpi(MPI_File_sync(file_), "MPI_File_sync");
  }

  void finish() override { check_mpi(MPI_File_close(&file_), "MPI_File_close"); }

 private:
  const Setting& setting_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace

std::unique_ptr<Output> make_mpi_io(const Setting& setting) {
  return std::make_unique<MpiIo>(setting);
}

}  // namespace leat::bench
