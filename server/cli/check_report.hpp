// SPDX-License-Identifier: Apache-2.0
// What `leat check` has found out, before it becomes a screen or JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/model/checks.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/words.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli {

// What `leat check` has found out, before it becomes a screen or JSON.
struct CheckOptions {
  std::string file;
  std::optional<std::int64_t> ranks;     ///< of the whole run
  std::optional<std::int64_t> per_node;  ///< ranks on one node
  std::vector<std::string> set;          ///< "nx=256"
  double import_limit = 60;              ///< seconds that importing the scripts may take
  std::string machine;                   ///< a description; "": nothing is said of placement
  std::string explain;                   ///< a variable or store: what is written of it, and when
  std::int64_t iterations = 0;           ///< of the run; 0: not known
  std::string time_step;                 ///< of the simulation's time, "10 min"; "": not known
  bool sizes_only = false;               ///< size_up() is what is wanted
  bool json = false;
};

inline constexpr model::Word<model::Severity> kSeverities[] = {
    {"error", model::Severity::error},
    {"warning", model::Severity::warning},
    {"note", model::Severity::note}};

struct CheckedScript {
  std::string name;
  std::string file;  ///< from the working folder
  bool on_staging = false;
  /// Of each that Leat will call: `name`, `variables` (null: all), `every`, `line` (0: not known),
  /// `products`, patterns of what it takes that others have made, `publishes`, names of what it makes
  /// of that, and `events`: some, then it is called only where one of them happens.
  Json functions = Json::array();
};

struct CheckReport {
  CheckOptions options;
  std::vector<model::Diagnostic> diagnostics;    ///< of the reader, of the buffer, of the scripts
  std::optional<model::Model> model;             ///< the rest means something only with a model
  std::vector<std::vector<std::string>> shapes;  ///< per variable: extents, as numbers where known
  model::MemoryEstimate memory;
  bool memory_complete = false;                      ///< no variable's size is unknown
  std::int64_t per_node = 1;                         ///< ranks on a full node
  std::optional<std::uint64_t> iterations_that_fit;  ///< at most, unless memory_complete
  std::vector<std::string> set_by_simulation;        ///< parameters without a value
  // Of the variables that are taken
  std::vector<std::string> sizes_need;       ///< parameters without a value that shapes use
  std::vector<std::string> placeholders;     ///< "nx=1": values of the XML that may stand for none
  std::vector<std::string> sizes_at_writes;  ///< variables with a "?" extent
  std::vector<CheckedScript> scripts;
  std::string server_place, memory_place;  ///< on options.machine

  bool good() const;
};

/// What an iteration takes, and nothing else. Fails only when `set` does not fit the parameters of the
/// file: that is the command line's fault.
Result<CheckReport> size_up(const CheckOptions& options);
/// And all else; fails likewise.
Result<CheckReport> check_file(const CheckOptions& options);

/// Asks the plugins of stores that come with Leat what they think of their options.
void check_stores(CheckReport& report);

/// Where server and memory are on the machine that is described, with ranks bound to cores.
void check_placement(CheckReport& report);

/// Looks for the scripts of the report's model and imports them in its interpreter; adds what it
/// finds.
void check_scripts(CheckReport& report);
/// Who takes what of whom. After the scripts.
void check_products(CheckReport& report);

Json json_of(const CheckReport& report);
/// All there is to see, for people; `facts`: its JSON.
std::string screen(const CheckReport& report, const Json& facts, const Look& look);

}  // namespace leat::cli
