// SPDX-License-Identifier: Apache-2.0
// Has the names of two calls of MPI, of which one does nothing and one throws, as an error handler may.
#include <stdexcept>

extern "C" int MPI_Wait(void*, void*) { return 0; }
extern "C" int MPI_Barrier(void*) { throw std::runtime_error("an error of MPI"); }
