// SPDX-License-Identifier: Apache-2.0
// The list of what is measured, by name.
#include "tests/bench/job/outputs/outputs.hpp"

namespace leat::bench {
namespace {

constexpr Method kMethods[] = {
#ifdef LEAT_BENCH_PARALLEL_HDF5
    {"hdf5-parallel", make_hdf5_parallel},
#else
    {"none", make_none},
    {"posix-write", make_posix_write},
    {"posix-aio", make_posix_aio},
#ifdef LEAT_BENCH_IO_URING
    {"io-uring", make_io_uring},
    {"io-uring-flip", make_io_uring_flip},
#endif
    {"hdf5-file", make_hdf5_file},
    {"mpi-io", make_mpi_io},
    {"mpi-isend", make_mpi_isend, serve_mpi_isend},
    {"leat-write", make_leat_write},
    {"leat-commit", make_leat_commit},
#endif
};

}  // namespace

const Method* find_method(const std::string& name) {
  for (const Method& method : kMethods)
    if (name == method.name) return &method;
  return nullptr;
}

std::string method_names() {
  std::string all;
  for (const Method& method : kMethods) all += std::string(all.empty() ? "" : " ") + method.name;
  return all;
}

}  // namespace leat::bench
