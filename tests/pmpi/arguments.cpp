// SPDX-License-Identifier: Apache-2.0
// Compiles where calls.def says of each call as many arguments as this mpi.h does.
#include <mpi.h>

#include <cstddef>

template <class Result, class... Arguments>
constexpr std::size_t arguments(Result (*)(Arguments...)) {
  return sizeof...(Arguments);
}

#define CALL(c, fortran, words, is_collective) \
  static_assert(arguments(MPI_##c) == words, "MPI_" #c " has another number of arguments");
#define COUNTED(c, fortran, words, is_collective) CALL(c, fortran, words, is_collective)
#include "client-api/integrations/mpi-profiling/calls.def"
