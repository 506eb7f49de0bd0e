// SPDX-License-Identifier: Apache-2.0
// The names that Fortran calls: as gfortran, ifort, nvfortran and flang make them of damaris_..._f.
// Texts are not ended by a 0: their lengths come behind the arguments.
#include <mpi.h>

#include <cstdint>
#include <string>

#include "Damaris.h"

namespace {

// Without the blanks at its end, as the texts of Fortran are compared.
std::string text_of(const char* text, int length) {
  while (length > 0 && text[length - 1] == ' ') --length;
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace

#define DAMARIS_FORTRAN DAMARIS_API void

extern "C" {

DAMARIS_FORTRAN damaris_initialize_f_(const char* config, const MPI_Fint* comm, int* err,
                                      int length) {
  *err = damaris_initialize(text_of(config, length).c_str(), MPI_Comm_f2c(*comm));
}
DAMARIS_FORTRAN damaris_finalize_f_(int* err) { *err = damaris_finalize(); }
DAMARIS_FORTRAN damaris_start_f_(int* is_client, int* err) { *err = damaris_start(is_client); }
DAMARIS_FORTRAN damaris_stop_f_(int* err) { *err = damaris_stop(); }

DAMARIS_FORTRAN damaris_write_f_(const char* name, const void* data, int* err, int length) {
  *err = damaris_write(text_of(name, length).c_str(), data);
}
DAMARIS_FORTRAN damaris_write_block_f_(const char* name, const int* block, const void* data,
                                       int* err, int length) {
  *err = damaris_write_block(text_of(name, length).c_str(), *block, data);
}

// type(c_ptr) functions of the module damaris.
DAMARIS_API void* damaris_alloc_f_(const char* name, int* err, int length) {
  void* memory = nullptr;
  *err = damaris_alloc(text_of(name, length).c_str(), &memory);
  return memory;
}
DAMARIS_API void* damaris_alloc_block_f_(const char* name, const int* block, int* err, int length) {
  void* memory = nullptr;
  *err = damaris_alloc_block(text_of(name, length).c_str(), *block, &memory);
  return memory;
}

DAMARIS_FORTRAN damaris_commit_f_(const char* name, int* err, int length) {
  *err = damaris_commit(text_of(name, length).c_str());
}
DAMARIS_FORTRAN damaris_commit_block_f_(const char* name, const int* block, int* err, int length) {
  *err = damaris_commit_block(text_of(name, length).c_str(), *block);
}
DAMARIS_FORTRAN damaris_commit_iteration_f_(const char* name, const int* iteration, int* err,
                                            int length) {
  *err = damaris_commit_iteration(text_of(name, length).c_str(), *iteration);
}
DAMARIS_FORTRAN damaris_commit_block_iteration_f_(const char* name, const int* block,
                                                  const int* iteration, int* err, int length) {
  *err = damaris_commit_block_iteration(text_of(name, length).c_str(), *block, *iteration);
}

DAMARIS_FORTRAN damaris_clear_f_(const char* name, int* err, int length) {
  *err = damaris_clear(text_of(name, length).c_str());
}
DAMARIS_FORTRAN damaris_clear_block_f_(const char* name, const int* block, int* err, int length) {
  *err = damaris_clear_block(text_of(name, length).c_str(), *block);
}
DAMARIS_FORTRAN damaris_clear_iteration_f_(const char* name, const int* iteration, int* err,
                                           int length) {
  *err = damaris_clear_iteration(text_of(name, length).c_str(), *iteration);
}
DAMARIS_FORTRAN damaris_clear_block_iteration_f_(const char* name, const int* block,
                                                 const int* iteration, int* err, int length) {
  *err = damaris_clear_block_iteration(text_of(name, length).c_str(), *block, *iteration);
}

DAMARIS_FORTRAN damaris_signal_f_(const char* name, int* err, int length) {
  *err = damaris_signal(text_of(name, length).c_str());
}

DAMARIS_FORTRAN damaris_parameter_get_f_(const char* name, void* buffer, const int* size, int* err,
                                         int length) {
  *err = damaris_parameter_get(text_of(name, length).c_str(), buffer,
                               static_cast<unsigned int>(*size));
}
DAMARIS_FORTRAN damaris_parameter_set_f_(const char* name, const void* buffer, const int* size,
                                         int* err, int length) {
  *err = damaris_parameter_set(text_of(name, length).c_str(), buffer,
                               static_cast<unsigned int>(*size));
}

// In C order, as Damaris has them: the last number is that of the dimension that varies fastest.
DAMARIS_FORTRAN damaris_set_position_f_(const char* name, const std::int64_t* position, int* err,
                                        int length) {
  *err = damaris_set_position(text_of(name, length).c_str(), position);
}
DAMARIS_FORTRAN damaris_set_block_position_f_(const char* name, const int* block,
                                              const std::int64_t* position, int* err, int length) {
  *err = damaris_set_block_position(text_of(name, length).c_str(), *block, position);
}

DAMARIS_FORTRAN damaris_client_comm_get_f_(MPI_Fint* comm, int* err) {
  MPI_Comm clients = MPI_COMM_NULL;
  *err = damaris_client_comm_get(&clients);
  if (*err == DAMARIS_OK) *comm = MPI_Comm_c2f(clients);
}
DAMARIS_FORTRAN damaris_end_iteration_f_(int* err) { *err = damaris_end_iteration(); }
DAMARIS_FORTRAN damaris_get_iteration_f_(int* iteration, int* err) {
  *err = damaris_get_iteration(iteration);
}

}  // extern "C"
