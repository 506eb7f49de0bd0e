// SPDX-License-Identifier: Apache-2.0
// All ways of output, each in the file of its name.
#pragma once

#include "tests/bench/job/output.hpp"

namespace leat::bench {

std::unique_ptr<Output> make_none(const Setting&);
std::unique_ptr<Output> make_posix_write(const Setting&);
std::unique_ptr<Output> make_posix_aio(const Setting&);
std::unique_ptr<Output> make_io_uring(const Setting&);
std::unique_ptr<Output> make_io_uring_flip(const Setting&);
std::unique_ptr<Output> make_hdf5_file(const Setting&);
std::unique_ptr<Output> make_hdf5_parallel(const Setting&);
std::unique_ptr<Output> make_mpi_io(const Setting&);
std::unique_ptr<Output> make_mpi_isend(const Setting&);
void serve_mpi_isend(const Setting&);
std::unique_ptr<Output> make_leat_write(const Setting&);
std::unique_ptr<Output> make_leat_commit(const Setting&);

}  // namespace leat::bench
