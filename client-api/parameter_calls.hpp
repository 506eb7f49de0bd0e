// SPDX-License-Identifier: Apache-2.0
// The calls that set parameters, kept here so that later layouts use them and told to the server,
// and that get them, steered values among them. As BlockWriter's calls.
#pragma once

#include <cstdint>
#include <string>

#include "client-api/channel.hpp"
#include "client-api/failures.hpp"
#include "client-api/parameter_table.hpp"
#include "client-api/variable_table.hpp"
#include "lib/shm/steering.hpp"

namespace leat::client {

class ParameterCalls {
 public:
  ParameterCalls(std::uint32_t client, Channel& channel, VariableTable& variables,
                 Failures& failures);

  Status set_integer(const Call& call, const char* name, std::int64_t value);
  Status set_real(const Call& call, const char* name, double value);
  Status set_text(const Call& call, const char* name, const std::string& value);
  /// `*value` is untouched after an error.
  Status get_integer(const Call& call, const char* name, std::int64_t* value);
  Status get_real(const Call& call, const char* name, double* value);
  Status get_text(const Call& call, const char* name, char* text, std::uint64_t size,
                  std::uint64_t* needed);
  /// Takes the values that are steered from this iteration on.
  void enter(std::int64_t iteration);

 private:
  bool find(const Call& call, const char* name, std::uint32_t* index, Status* status);
  bool find_to_set(const Call& call, const char* name, std::uint32_t kind, std::uint32_t* index,
                   Status* status);
  bool find_to_get(const Call& call, const char* name, const void* value, std::uint32_t kind,
                   std::uint32_t* index, Status* status);
  Status wrong_kind(const Call& call, std::uint32_t parameter, const char* verb);
  Status push(const Call& call, shm::EventKind kind, std::uint32_t parameter, std::uint64_t bits);
  Status not_taken_yet(const Call& call, Status status);

  Channel& channel_;
  VariableTable& variables_;
  Failures& failures_;
  ParameterTable parameters_;
  shm::SteeringReader steering_;
};

}  // namespace leat::client
