// SPDX-License-Identifier: Apache-2.0
// The data model of a run as the XML describes it: plain structs, immutable after reading.
// Indices into the vectors of Model are the ids that the segment and the plugins use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/expression.hpp"
#include "lib/base/scalar.hpp"

namespace leat::model {

/// Where something was said; `line` and `column` count from 1, 0 means unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
};

struct Expression {
  std::string text;  ///< as written
  std::vector<ExpressionOp> program;
};

struct Parameter {
  enum class Kind : std::uint32_t { integer = 1, real = 2, text = 3 };
  std::string name;
  Kind kind = Kind::integer;
  ParameterValue value;  ///< without one the simulation sets it before it is needed
  std::string description;
  SourceLocation where;
};

struct Dimension {
  /// In files; never empty: "<layout>_<index>" when the XML names none.
  std::string name;
  Expression extent;     ///< of a block, ghosts included; empty program when `varying`
  bool varying = false;  ///< "?" in the XML: leat_set_extent says it at run time
  Expression global;     ///< of the whole, without ghosts; empty program when there is none
  std::int64_t ghost_low = 0;
  std::int64_t ghost_high = 0;
};

/// In which the XML has what is said of each dimension.
enum class Order { unsaid, c, fortran };

/// Dimensions in C order, whatever the order in the XML: the last one varies fastest in memory.
struct Layout {
  std::string name;
  ScalarType type = ScalarType::float64;
  std::vector<Dimension> dimensions;  ///< 0 to kMaxDims; none is a scalar
  bool has_global = false;
  bool partial = false;     ///< holes in the global array are meant
  bool may_change = false;  ///< parameters that shape it may be set at any time: `varying`
  Order order = Order::unsaid;
  std::int64_t blocks = 1;  ///< of a variable, that a rank writes in an iteration, at most
  std::string description;
  SourceLocation where;
};

/// Which parameter is the time.
struct TimeAxis {
  std::uint32_t parameter = 0;  ///< a real one
  std::string unit, calendar;
};

struct Option {
  std::string name;
  std::string value;
  SourceLocation where;  ///< of the value
};

/// Where in space values lie. Axes are in the order x, y, z; x runs along the last dimension of a
/// variable.
struct Mesh {
  enum class Kind : std::uint32_t {
    uniform = 1,
    rectilinear = 2,
    curvilinear = 3,
    unstructured = 4,
    points = 5,
    amr = 6
  };
  std::string name;
  Kind kind = Kind::uniform;
  std::uint32_t dims = 0;                  ///< of space: 1 to kMaxAxes
  std::vector<double> origin, spacing;     ///< uniform: `dims` each; amr: those of level 0
  std::vector<std::uint32_t> coordinates;  ///< others: variables, one for each axis or one for all
  std::optional<std::uint32_t> connectivity, offsets, types;  ///< unstructured: variables
  std::uint32_t cell_type = 0;  ///< unstructured: VTK's number when all cells are of one type
  std::int32_t levels = 0;      ///< amr: how many there may be; 0: not known
  std::int32_t ratio = 2;       ///< amr: cells of a level along the edge of a cell of the one below
  std::string unit;             ///< uniform, amr: of lengths
  std::string description;
  SourceLocation where;
};
inline constexpr std::size_t kMaxAxes = 3;

enum class Centering : std::uint32_t { zonal = 1, nodal = 2, unplaced = 3 };

struct Variable {
  std::string name;  ///< full name, groups joined by '/': "fields/temperature"
  std::uint32_t layout = 0;
  std::string unit;
  std::string description;
  std::string standard_name, cell_methods;  ///< of the CF conventions, or ""
  std::optional<std::uint32_t> mesh;
  Centering centering = Centering::zonal;
  std::vector<Centering> centerings;  ///< on a uniform mesh: along each dimension; else empty
  bool time_varying = true;  ///< false: written once, stored without an iteration dimension
  std::vector<std::uint32_t> stores;  ///< which stores take it
  std::vector<Option> options;        ///< what a store may want to know: compression, ...
  SourceLocation where;
};

/// On which cores, and when, an analysis runs.
enum class Schedule { server, sync, idle, harvest, coordinated, static_, dynamic };
/// In a process of its own, on the simulation's cores.
constexpr bool is_apart(Schedule schedule) {
  return schedule == Schedule::idle || schedule == Schedule::harvest ||
         schedule == Schedule::coordinated;
}
/// On cores that it shares with the simulation's threads, by their leave.
constexpr bool is_of_simulation(Schedule schedule) {
  return schedule == Schedule::static_ || schedule == Schedule::dynamic;
}

/// One plugin that takes iterations: built in (`type`) or a library of the user's (`library`).
struct Store {
  std::string name;
  std::string type;     ///< "hdf5", "trace", ... or "" when `library` is given
  std::string library;  ///< path of a plugin library, or ""
  const std::string& plugin() const noexcept { return type.empty() ? library : type; }
  std::int64_t every = 1;
  bool waits = true;  ///< false: iterations are left out while it is busy
  Schedule runs = Schedule::server;
  std::int64_t collectives = 1;  ///< Schedule::coordinated starts at the exit of each so manieth
  double defer_max_seconds = 1;  ///< or so long after the iteration has come
  /// Patterns of "<source>/<name>": what it takes of that which scripts and plugins publish.
  std::vector<std::string> products{"*"};
  std::vector<std::string> publishes;  ///< names of what it makes of those
  std::vector<Option> options;
  /// Of `library`: called at events instead of a plugin of its own, as Damaris does.
  std::string function;
  bool awaits_event = false;  ///< takes only iterations in which an event that names it happens
  SourceLocation where;
};

/// What the simulation, or somebody outside, may signal.
struct Event {
  enum class Scope : std::uint32_t { rank, node, run };
  std::string name;
  Scope scope = Scope::rank;
  std::vector<std::uint32_t> stores;   ///< those that await it
  std::vector<std::uint32_t> told;     ///< stores whose plugins are told
  std::vector<std::string> scripts{};  ///< names of those that are called only when it happens
  SourceLocation where;
};

/// Of Dask, with which a script for Damaris works.
struct DaskScheduler {
  std::string file;            ///< by which its scheduler is found
  std::int64_t threads = 1;    ///< of the worker that is started for it
  double timeout_seconds = 2;  ///< to reach the scheduler
};

/// A script for Damaris says nothing of itself: what Leat's own ones say by their decorator.
struct DamarisScript {
  std::int64_t every = 1;
  std::vector<std::uint32_t> variables;
  std::optional<DaskScheduler> dask;
};

/// A script, or a folder of them.
struct ScriptSource {
  std::string path;
  bool is_folder = false;
  double timeout_seconds = 60;           ///< the longest that a script may work on one iteration
  std::int64_t failures = 3;             ///< in a row, after which it is not called any more
  bool waits = false;                    ///< false: iterations are left out while it is busy
  std::optional<DamarisScript> damaris;  ///< it is one for Damaris
  SourceLocation where;
};

struct Scripts {
  std::string interpreter;
  std::int64_t workers = 4;
  std::uint64_t memory_bytes = 0;  ///< of one worker
  std::string output;              ///< folder for what they make
  Schedule runs = Schedule::server;
  std::vector<ScriptSource> sources;
  SourceLocation where;
  bool exist() const noexcept { return !sources.empty(); }
};

/// What guards a block on its way from the simulation through the stores.
enum class Checksum { none, crc32c };
/// What becomes of a write for which there is no room.
enum class OverflowPolicy { wait, drop_iteration, spill, error };
/// On whose memory node what a rank writes lies.
enum class Numa { server, client, interleave };

/// Where the server of a node lives.
enum class Place { process, ranks, thread, none };
/// In one rank's process, the first that comes, beside the simulation's own threads.
constexpr bool is_in_simulation(Place place) {
  return place == Place::thread || place == Place::none;
}

/// What the end of an iteration waits for.
enum class EndMode {
  async,     ///< for nothing, but as a store's runs="sync" says
  sync,      ///< for all that wants the iteration
  automatic  ///< for all while that is not slower: measured in the run
};

struct Architecture {
  Place place = Place::process;
  std::int64_t dedicated_cores = 1;  ///< of each node
  std::int64_t servers = 1;          ///< of each node, which divide its ranks, cores and buffer
  EndMode mode = EndMode::async;
  double grace_seconds = 30;       ///< from SIGTERM to the end
  std::uint64_t buffer_bytes = 0;  ///< of the segment per node
  double timeout_seconds = 60;     ///< the longest that one client call may wait
  Checksum checksum = Checksum::none;
  Numa numa = Numa::client;
  OverflowPolicy overflow_policy = OverflowPolicy::wait;
  std::string spill_folder;       ///< with OverflowPolicy::spill
  std::uint64_t spill_bytes = 0;  ///< the most that may lie there at a time
  SourceLocation spill_where;
};

struct Log {
  std::string level = "info";  ///< debug, info, warning, error
  std::string file;            ///< "" for standard error
};

struct Model {
  std::string name;  ///< of the simulation; output files are called after it
  std::string description;
  std::string source_text;  ///< the XML as read, includes not expanded; for provenance
  std::vector<std::pair<std::string, std::string>> included{};  ///< paths and texts of its includes
  Architecture architecture;
  Log log;
  std::vector<Parameter> parameters;
  std::optional<TimeAxis> time;
  std::vector<Layout> layouts;
  std::vector<Mesh> meshes;
  std::vector<Variable> variables;
  std::vector<Store> stores;
  Scripts scripts;
  std::vector<Event> events;
  bool is_for_damaris = false;  ///< the file was: its programs may begin with leat_init alone
};

enum class Severity { error, warning, note };

struct Diagnostic {
  Severity severity = Severity::error;
  SourceLocation where;
  std::string message;
  std::string str() const;  ///< `heat.xml:41:7: error: variable "temp" ...; did you mean "cells"?`
};

}  // namespace leat::model
