// SPDX-License-Identifier: Apache-2.0
// The XML of the run: where it is, also when the program has given it as a text; and what it says, asked by one rank and
// told to all, before there is a session.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace leat::damaris {

// damaris_initialize takes a path or the XML itself, and Leat a path that all nodes see: a text becomes a file in the
// working folder, which is there as long as a server may read it.
class GivenXml {
 public:
  GivenXml() = default;
  /// Collective: what the first rank has been given counts. False, and said, when there is no place for the file.
  bool take(const char* config, MPI_Comm comm);
  /// Null where none was given.
  const char* path() const noexcept { return is_given_ ? path_.c_str() : nullptr; }
  /// The file is no longer needed. One whose XML has errors stays, for the lines that they name.
  void remove();

 private:
  std::string path_;
  bool is_given_ = false;
  bool is_own_ = false;  ///< made by this rank
};

// What the XML says, asked by one rank and told to all, before there is a session.

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
