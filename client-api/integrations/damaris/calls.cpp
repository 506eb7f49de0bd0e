// SPDX-License-Identifier: Apache-2.0
// The C boundary: each call finds out whether it may be made, and is one of Leat's.
#include <exception>
#include <memory>

#include "Damaris.h"
#include "environment.hpp"
#include "status.hpp"

namespace {

using leat::damaris::Allocations;
using leat::damaris::code_of;
using leat::damaris::Environment;
using leat::damaris::refuse;

std::unique_ptr<Environment> environment;
bool initialize_has_failed = false;

[[gnu::noinline]] int refuse_now(const char* call) {
  if (!environment)
    return refuse(DAMARIS_NOT_INITIALIZED, call,
                  initialize_has_failed ? "called after damaris_initialize had failed"
                                        : "called before damaris_initialize");
  if (environment->is_server())
    return refuse(DAMARIS_CORE_IS_SERVER, call, "called by a rank that was a server");
  return refuse(DAMARIS_NOT_INITIALIZED, call,
                "called before damaris_start, which says which ranks are clients");
}

// Nothing leaves a call but its code.
template <class Body>
int guarded(const char* call, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {
    return refuse(DAMARIS_ALLOCATION_ERROR, call, "out of memory");
  }
}

template <class Body>
int anywhere(const char* call, Body body) noexcept {
  return guarded(call, [&] { return environment ? body(*environment) : refuse_now(call); });
}

template <class Body>
int as_client(const char* call, Body body) noexcept {
  return guarded(call, [&] {
    return environment && environment->is_client() ? body(*environment) : refuse_now(call);
  });
}

template <class Body>
int on_block(const char* call, const char* variable, std::int32_t block, Body body) noexcept {
  return as_client(call, [&](Environment& the) {
    if (!variable) return refuse(DAMARIS_ARGUMENT_ERROR, call, "the variable's name is NULL");
    if (block < 0) return refuse(DAMARIS_INVALID_BLOCK, call, "the number of a block is negative");
    return body(the);
  });
}

int write(const char* call, const char* variable, std::int32_t block, const void* data) noexcept {
  return on_block(call, variable, block, [&](Environment&) {
    return code_of(leat_write_block(variable, static_cast<std::uint32_t>(block), data));
  });
}

int alloc(const char* call, const char* variable, std::int32_t block, void** data) noexcept {
  return on_block(call, variable, block, [&](Environment& the) {
    return the.allocations().alloc(variable, block, the.iteration(), data);
  });
}

int commit(const char* call, const char* variable, std::int32_t block,
           std::int64_t iteration) noexcept {
  return on_block(call, variable, block, [&](Environment& the) {
    return the.allocations().commit(call, variable, block, iteration);
  });
}

int clear(const char* call, const char* variable, std::int32_t block,
          std::int64_t iteration) noexcept {
  return on_block(call, variable, block, [&](Environment& the) {
    return the.allocations().clear(call, variable, block, iteration);
  });
}

int set_position(const char* call, const char* variable, std::int32_t block,
                 const std::int64_t* position) noexcept {
  return on_block(call, variable, block, [&](Environment&) {
    return code_of(leat_set_position(variable, static_cast<std::uint32_t>(block), position));
  });
}

}  // namespace

extern "C" {

int damaris_initialize(const char* configfile, MPI_Comm comm) {
  return guarded(__func__, [&] {
    if (environment)
      return refuse(DAMARIS_ALREADY_INITIALIZED, "damaris_initialize",
                    "call damaris_finalize first");
    int code = DAMARIS_OK;
    environment = Environment::initialize(configfile, comm, &code);
    initialize_has_failed = !environment;
    return code;
  });
}

int damaris_finalize(void) {
  return anywhere(__func__, [](Environment& the) {
    const int code = the.finalize();
    environment.reset();
    return code;
  });
}

int damaris_start(int* is_client) {
  if (is_client) *is_client = 0;
  return anywhere(__func__, [&](Environment& the) {
    if (!is_client)
      return refuse(DAMARIS_ARGUMENT_ERROR, "damaris_start", "the pointer to fill is NULL");
    return the.start(is_client);
  });
}

int damaris_stop(void) {
  return as_client(__func__, [](Environment& the) { return the.stop(); });
}

int damaris_write(const char* varname, const void* data) {
  return write(__func__, varname, 0, data);
}
int damaris_write_block(const char* varname, int32_t block, const void* data) {
  return write(__func__, varname, block, data);
}

int damaris_alloc(const char* varname, void** ptr) { return alloc(__func__, varname, 0, ptr); }
int damaris_alloc_block(const char* varname, int32_t block, void** ptr) {
  return alloc(__func__, varname, block, ptr);
}

int damaris_commit(const char* varname) {
  return commit(__func__, varname, 0, Allocations::kAnyIteration);
}
int damaris_commit_block(const char* varname, int32_t block) {
  return commit(__func__, varname, block, Allocations::kAnyIteration);
}
int damaris_commit_iteration(const char* varname, int32_t iteration) {
  return commit(__func__, varname, 0, iteration);
}
int damaris_commit_block_iteration(const char* varname, int32_t block, int32_t iteration) {
  return commit(__func__, varname, block, iteration);
}

int damaris_clear(const char* varname) {
  return clear(__func__, varname, 0, Allocations::kAnyIteration);
}
int damaris_clear_block(const char* varname, int32_t block) {
  return clear(__func__, varname, block, Allocations::kAnyIteration);
}
int damaris_clear_iteration(const char* varname, int32_t iteration) {
  return clear(__func__, varname, 0, iteration);
}
int damaris_clear_block_iteration(const char* varname, int32_t block, int32_t iteration) {
  return clear(__func__, varname, block, iteration);
}

int damaris_signal(const char* signal_name) {
  return as_client(__func__, [&](Environment& the) { return the.signal(signal_name); });
}
int damaris_bind(const char* signal_name, signal_t sig) {
  return anywhere(__func__, [&](Environment& the) { return the.bind(signal_name, sig); });
}

int damaris_parameter_get(const char* param_name, void* buffer, unsigned int size) {
  return anywhere(__func__,
                  [&](Environment& the) { return the.parameters().get(param_name, buffer, size); });
}
int damaris_parameter_set(const char* param_name, const void* buffer, unsigned int size) {
  return anywhere(__func__,
                  [&](Environment& the) { return the.parameters().set(param_name, buffer, size); });
}

int damaris_set_position(const char* var_name, const int64_t* position) {
  return set_position(__func__, var_name, 0, position);
}
int damaris_set_block_position(const char* var_name, int32_t block, const int64_t* position) {
  return set_position(__func__, var_name, block, position);
}

int damaris_client_comm_get(MPI_Comm* comm) {
  if (comm) *comm = MPI_COMM_NULL;
  return as_client(__func__, [&](Environment& the) {
    if (!comm)
      return refuse(DAMARIS_ARGUMENT_ERROR, "damaris_client_comm_get",
                    "the pointer to fill is NULL");
    *comm = the.clients();
    return int{DAMARIS_OK};
  });
}

int damaris_end_iteration(void) {
  return as_client(__func__, [](Environment& the) { return the.end_iteration(); });
}
int damaris_get_iteration(int* iteration) {
  return anywhere(__func__, [&](Environment& the) {
    if (!iteration)
      return refuse(DAMARIS_ARGUMENT_ERROR, "damaris_get_iteration", "the pointer to fill is NULL");
    *iteration = static_cast<int>(the.iteration());
    return int{DAMARIS_OK};
  });
}

int damaris_get_type(const char* variable_name, DAMARIS_TYPE_STR* vartype) {
  return anywhere(__func__, [&](Environment& the) { return the.type_of(variable_name, vartype); });
}

int damaris_has_plugin(DAMARIS_PLUGIN_TYPE plugin) {
  return plugin == DAMARIS_HAS_HDF5 || plugin == DAMARIS_HAS_PYTHON;
}

const char* damaris_error_string(int code) { return leat::damaris::text_of(code); }

}  // extern "C"
