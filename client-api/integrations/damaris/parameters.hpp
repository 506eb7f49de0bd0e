// SPDX-License-Identifier: Apache-2.0
// The parameters as the calls of Damaris see them: bytes of a C type that only their number tells.
#pragma once

#include "description.hpp"

namespace leat::damaris {

class Parameters {
 public:
  explicit Parameters(std::map<std::string, Parameter, std::less<>> parameters)
      : parameters_(std::move(parameters)) {}

  int get(const char* name, void* buffer, unsigned int size);
  int set(const char* name, const void* buffer, unsigned int size);

  /// There is a session from now on: it is told what was set.
  int session_began();
  /// It is over: what it had last holds on.
  void session_ends();

 private:
  Parameter* find(const char* call, const char* name, const void* buffer, int* code);
  void refresh(const char* name, Parameter& parameter);
  int tell(const char* name, const Parameter& parameter);

  std::map<std::string, Parameter, std::less<>> parameters_;
  bool in_session_ = false;
};

}  // namespace leat::damaris
