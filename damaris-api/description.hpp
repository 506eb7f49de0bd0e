// SPDX-License-Identifier: Apache-2.0
// What the XML says, asked by one rank and told to all, before there is a session.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace leat::damaris {

/// Its alternatives are the kinds of parameters: int, double, string.
using Value = std::variant<std::int64_t, double, std::string>;

struct Parameter {
  Value value;         ///< of the parameter's kind
  bool known = false;  ///< the XML, or the program, has given it a value
  bool set = false;    ///< by the program, which has told nobody yet
};

struct Description {
  std::map<std::string, Parameter, std::less<>> parameters;
  /// Variables with a global array, and how many blocks a rank writes of them.
  std::map<std::string, std::uint32_t> placed;
  std::map<std::string, int, std::less<>> types;  ///< of variables, DAMARIS_TYPE_...
  bool ranks_serve = false;                       ///< ranks of the job become servers
};

/// Of a text of leat_describe.
Description parse_description(const std::string& text);

/// Collective: the first rank asks, all get its answer. False when the XML has errors, which that
/// rank has said.
bool ask_for_description(const char* config, MPI_Comm comm, Description* description);

}  // namespace leat::damaris
