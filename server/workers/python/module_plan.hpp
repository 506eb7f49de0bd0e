// SPDX-License-Identifier: Apache-2.0
// A graph of modules as `leat graph` writes it: which programs there are, what comes in at their ports, and what they
// make. docs/design/graphs.md describes the file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/base/status.hpp"

namespace leat::server {

/// What goes through a connection, decided by what is said of a message alone.
struct PortFilter {
  std::int64_t every = 1, offset = 0;  ///< iterations that give `offset` when divided by `every`
  double rate = 0;                     ///< a second, at most; 0: any
  double sample = 1;                   ///< the share of all iterations, always the same ones
  std::string when;  ///< a condition on the iteration, its time and the parameters; "": none
};

/// One port at which messages come in.
struct ModuleInput {
  std::string port;
  std::string variable;  ///< of the simulation; "": it is of modules, scripts or stores
  std::vector<std::string>
      sources;              ///< "<source>/<product>", in the order in which their parts are seen
  bool any = false;         ///< one of the sources is enough for a turn
  bool greedy = false;      ///< it waits for nothing, and has the newest message there is
  std::int64_t tokens = 0;  ///< it has the message of so many iterations before
  std::int64_t depth = 0;   ///< a source has no turn while so many wait here; 0: no limit
  std::int64_t share = 0, shares = 1;  ///< of the blocks of a variable it has these, by turns
  PortFilter filter;
};

struct ModulePlan {
  std::string name;
  std::vector<std::string> command;
  double timeout_seconds = 0;  ///< of a turn; 0: as the XML says
  bool latest = false;         ///< of iterations that wait while it is busy the newest is kept
  bool on_staging = false;     ///< it is on the staging nodes
  bool idle = false;           ///< it gets what time nobody else wants
  bool harvest = false;        ///< and its turns begin while ranks idle
  std::string host;  ///< "desk": it is there, and what it takes and makes is sent; "": it is here
  std::vector<ModuleInput> inputs;
  std::vector<std::string> outputs;  ///< names of products
  std::uint64_t stamp = 0;           ///< another one when anything of it is
  nlohmann::json told;               ///< all that the plan says of it, for its process
};

struct GraphPlan {
  std::vector<std::shared_ptr<const ModulePlan>> modules;
};

inline constexpr std::int64_t kGraphVersion = 1;

/// The plan of this text. The message of an error says what is wrong, not where the text is from.
Result<GraphPlan> graph_of(const std::string& text);

/// Plans that were read, each until its file is another one: they are looked at before each iteration.
class GraphPlans {
 public:
  /// `stamp`: that the file has now.
  Result<GraphPlan> read(const std::string& path, std::uint64_t stamp);

 private:
  struct Read {
    std::uint64_t stamp = 0;
    GraphPlan plan;
  };
  std::map<std::string, Read> all_;  // by path
};

/// What of a "<source>/<product>" is which; both without the other where there is no "/".
std::string source_of(const std::string& product);

}  // namespace leat::server
