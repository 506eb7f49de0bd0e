// SPDX-License-Identifier: Apache-2.0
// The calls of leat_module.h over the module that this process is: each turns what went wrong into a status and a message.
#include "leat_module.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <set>
#include <string>
#include <utility>

#include "client-api/module/module.hpp"

namespace leat::module {
namespace {

// Different messages that go to the log, at most.
constexpr std::size_t kMostTold = 64;

// Of this process. Never destroyed: exit() runs through it.
struct State {
  Module module;
  std::string error;
  std::set<std::string> told;
};

State& state() {
  static State* const the = new State;
  return *the;
}

// To the log of the run, or where there is none to standard error; each message once.
void tell(const std::string& text, bool has_log) noexcept try {
  State& the = state();
  if (the.told.size() >= kMostTold || !the.told.insert(text).second) return;
  if (has_log && the.module.log("warning", text)) return;
  std::fprintf(stderr, "leat: %s\n", text.c_str());
} catch (const std::exception&) {  // no memory to tell it with
}

leat_status fail(const char* call, const Error& error, bool has_log = true) noexcept try {
  state().error = std::string(call) + ": " + error.message;
  tell(state().error, has_log);
  return static_cast<leat_status>(error.status);
} catch (const std::exception&) {
  return LEAT_ERROR_MEMORY;
}

// Whatever `body` throws becomes a status.
template <class Body>
leat_status guarded(const char* call, Body&& body) noexcept {
  try {
    const Result<void> done = body(state().module);
    return done ? LEAT_OK : fail(call, done.error(), state().module.turn() != nullptr);
  } catch (const std::bad_alloc&) {
    return fail(call, {Status::ERROR_MEMORY, "there is no memory"});
  } catch (const std::exception& e) {
    return fail(call, {Status::ERROR_INTERNAL, e.what()});
  }
}

Error null_argument(const char* name) {
  return {Status::ERROR_ARGUMENT, std::string(name) + " is null"};
}

void program_ends(int status, void*) { state().module.program_ends(status); }

template <class Numbers>
void fill(std::int64_t* to, const Numbers& from) {
  std::copy(from.begin(), from.end(), to);
}

leat_part told_part(const TurnPart& part, const void* data) {
  leat_part to{};
  to.data = data;
  to.bytes = part.bytes;
  to.type = static_cast<std::int32_t>(part.type);
  to.dims = static_cast<std::int32_t>(part.extents.size());
  fill(to.extent, part.extents);
  for (std::size_t d = 0; d < part.names.size(); ++d) to.name[d] = part.names[d].c_str();
  to.unit = part.unit.c_str();
  to.iteration = part.iteration;
  to.source = part.source ? part.source->c_str() : nullptr;
  to.rank = part.rank;
  to.block = part.block;
  to.level = part.level;
  to.has_position = part.position.empty() ? 0 : 1;
  fill(to.position, part.position);
  fill(to.ghosts_before, part.ghosts_before);
  fill(to.ghosts_after, part.ghosts_after);
  to.has_global = part.global.empty() ? 0 : 1;
  fill(to.global, part.global);
  return to;
}

Result<leat_part> part_at(Module& module, const char* port, int number) {
  const auto parts = module.parts(port);
  if (!parts) return parts.error();
  const std::size_t count = (*parts)->size();
  if (number < 0 || static_cast<std::size_t>(number) >= count)
    return Error{Status::ERROR_ARGUMENT, "port \"" + std::string(port) + "\" has no part " +
                                             std::to_string(number) + " in this turn: there are " +
                                             std::to_string(count) + ", from 0 on"};
  const TurnPart& part = (**parts)[static_cast<std::size_t>(number)];
  const Result<const void*> data = module.data_of(part);
  if (!data) return data.error();
  return told_part(part, *data);
}

Result<PutArray> array_of(const void* data, leat_type type, int dims, const std::int64_t* extents,
                          const char* unit, const char* const* names) {
  if (scalar_bytes(static_cast<ScalarType>(type)) == 0)
    return Error{Status::ERROR_TYPE, std::to_string(type) + " is no leat_type"};
  if (dims < 0 || dims > LEAT_MODULE_DIMS)
    return Error{Status::ERROR_ARGUMENT, "an array has 0 to " + std::to_string(LEAT_MODULE_DIMS) +
                                             " dimensions, not " + std::to_string(dims)};
  if (dims > 0 && !extents) return null_argument("extents");
  PutArray array{data, static_cast<ScalarType>(type), {}, {}, unit ? unit : ""};
  for (int d = 0; d < dims; ++d) {
    array.extents.push_back(extents[d]);
    array.names.push_back(names && names[d] ? names[d] : "dim_" + std::to_string(d));
  }
  return array;
}

}  // namespace
}  // namespace leat::module

using namespace leat;          // NOLINT(google-build-using-namespace): this file is the boundary
using namespace leat::module;  // NOLINT(google-build-using-namespace): the same

int leat_wait(void) {
  static const bool at_end = on_exit(program_ends, nullptr) == 0;
  (void)at_end;
  bool has_turn = false;
  const leat_status status = guarded(__func__, [&](Module& module) -> Result<void> {
    const Result<bool> waited = module.wait();
    if (!waited) return waited.error();
    has_turn = *waited;
    return {};
  });
  if (status != LEAT_OK) return status;
  return has_turn ? 1 : 0;
}

int64_t leat_turn_iteration(void) {
  const Turn* const turn = state().module.turn();
  return turn ? turn->iteration : -1;
}

int leat_turn_complete(void) {
  const Turn* const turn = state().module.turn();
  if (!turn) return -1;
  return turn->complete ? 1 : 0;
}

leat_status leat_turn_time(double* time) {
  return guarded(__func__, [&](Module& module) -> Result<void> {
    if (!time) return null_argument("time");
    const std::string& name = module.setup().time_parameter;
    if (module.turn() && name.empty())
      return Error{Status::ERROR_UNKNOWN_NAME, "the XML has no <time>"};
    const Result<double> value = module.real_parameter(name);
    if (!value) return value.error();
    *time = *value;
    return {};
  });
}

leat_status leat_turn_int(const char* parameter, int64_t* value) {
  return guarded(__func__, [&](Module& module) -> Result<void> {
    if (!parameter || !value) return null_argument(parameter ? "value" : "parameter");
    const Result<ParameterValue> found = module.parameter(parameter);
    if (!found) return found.error();
    if (!std::holds_alternative<std::int64_t>(*found))
      return Error{Status::ERROR_TYPE,
                   "parameter \"" + std::string(parameter) + "\" is no integer"};
    *value = as_integer(*found);
    return {};
  });
}

leat_status leat_turn_double(const char* parameter, double* value) {
  return guarded(__func__, [&](Module& module) -> Result<void> {
    if (!parameter || !value) return null_argument(parameter ? "value" : "parameter");
    const Result<double> found = module.real_parameter(parameter);
    if (!found) return found.error();
    *value = *found;
    return {};
  });
}

leat_status leat_turn_text(const char* parameter, const char** text) {
  return guarded(__func__, [&](Module& module) -> Result<void> {
    if (!parameter || !text) return null_argument(parameter ? "text" : "parameter");
    const Result<ParameterValue> found = module.parameter(parameter);
    if (!found) return found.error();
    if (module.setup().parameters.at(parameter) != "string")
      return Error{Status::ERROR_TYPE, "parameter \"" + std::string(parameter) + "\" is no text"};
    *text = as_text(module.turn()->parameters.at(parameter)).data();
    return {};
  });
}

int leat_parts(const char* port) {
  int count = 0;
  const leat_status status = guarded(__func__, [&](Module& module) -> Result<void> {
    if (!port) return null_argument("port");
    const auto parts = module.parts(port);
    if (!parts) return parts.error();
    count = static_cast<int>((*parts)->size());
    return {};
  });
  return status == LEAT_OK ? count : status;
}

leat_status leat_get_sized(const char* port, int part, leat_part* to, uint64_t size) {
  if (to && size >= sizeof to->struct_size) std::memset(to, 0, size);
  return guarded("leat_get", [&](Module& module) -> Result<void> {
    if (!port || !to) return null_argument(port ? "part" : "port");
    Result<leat_part> found = part_at(module, port, part);
    if (!found) return found.error();
    found->struct_size = std::min<std::uint64_t>(size, sizeof *found);
    std::memcpy(to, &*found, found->struct_size);
    return {};
  });
}

leat_status leat_put_memory(uint64_t bytes, void** data) {
  if (data) *data = nullptr;
  return guarded(__func__, [&](Module& module) -> Result<void> {
    if (!data) return null_argument("data");
    const Result<void*> memory = module.memory(bytes);
    if (!memory) return memory.error();
    *data = *memory;
    return {};
  });
}

leat_status leat_put_described(const char* port, const void* data, leat_type type, int dims,
                               const int64_t extents[], const char* unit,
                               const char* const names[]) {
  return guarded("leat_put", [&](Module& module) -> Result<void> {
    if (!port) return null_argument("port");
    const Result<PutArray> array = array_of(data, type, dims, extents, unit, names);
    if (!array)
      return Error{array.error().status,
                   "port \"" + std::string(port) + "\": " + array.error().message};
    return module.put(port, *array);
  });
}

leat_status leat_put(const char* port, const void* data, leat_type type, int dims,
                     const int64_t extents[]) {
  return leat_put_described(port, data, type, dims, extents, nullptr, nullptr);
}

const char* leat_module_name(void) {
  guarded(__func__, [](Module& module) { return module.connect(); });
  return state().module.setup().name.c_str();
}

const char* leat_module_option(const char* name) {
  const char* text = nullptr;
  guarded(__func__, [&](Module& module) -> Result<void> {
    if (!name) return null_argument("name");
    if (const Result<void> connected = module.connect(); !connected) return connected;
    const auto found = module.setup().options.find(name);
    if (found != module.setup().options.end()) text = found->second.c_str();
    return {};
  });
  return text;
}

leat_status leat_module_log(const char* level, const char* text) {
  return guarded(__func__, [&](Module& module) -> Result<void> {
    if (!text) return null_argument("text");
    return module.log(level ? level : "info", text);
  });
}

const char* leat_module_error(void) { return state().error.c_str(); }
