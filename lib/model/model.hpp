// SPDX-License-Identifier: Apache-2.0
// The data model of a run as the XML describes it: plain structs, immutable after reading.
// Indices into the vectors of Model are the ids that the segment and the plugins use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/expression.hpp"
#include "lib/base/scalar.hpp"
#include "lib/model/array_expression.hpp"
#include "lib/model/every.hpp"
#include "lib/model/physical_units.hpp"
#include "lib/model/selection.hpp"
#include "lib/model/space_reduction.hpp"

namespace leat::model {

/// Where something was said; `line` and `column` count from 1, 0 means unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
};

enum class ParameterKind : std::uint32_t { integer = 1, real = 2, text = 3 };
/// In which order the XML says something of each dimension.
enum class Order { unspecified, c, fortran };
enum class MeshKind : std::uint32_t {
  uniform = 1,
  rectilinear = 2,
  curvilinear = 3,
  unstructured = 4,
  points = 5,
  amr = 6
};
/// VTK's number of a shape, whose word is in words.hpp; 0 for none. Source: vtkCellType.h
enum class CellShape : std::uint32_t {};
enum class Centering : std::uint32_t { zonal = 1, nodal = 2, unplaced = 3 };
enum class EventScope : std::uint32_t { rank, node, run };

/// Who a script is written for.
enum class ScriptForm { leat, damaris, deisa, catalyst, graph };
/// Whose data one for ParaView draws: those of its server, or of all servers of the run.
enum class ScriptScope { node, run };

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

/// What guards a block on its way from the simulation through the stores.
enum class Checksum { none, crc32c };
/// What becomes of a write for which there is no room.
enum class OverflowPolicy { wait, drop_iteration, spill, error };
enum class DropScope { node, run };
/// What becomes of arrays under names that no variable has.
enum class Undeclared { warn, ignore, accept };
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

/// By what the servers of a run reach each other.
enum class Carrier {
  automatic,  ///< TCP, unless one of them has no address
  tcp,
  folder,  ///< that all nodes see
  none     ///< each goes on without the others
};

/// Whether data are plain on the network between the servers of a run.
enum class Trust {
  none,  ///< they are encrypted
  job  ///< they are: the network is the job's own. Who speaks proves all the same that it is of the run
};

/// On which nodes a store or a script works.
enum class At {
  node,    ///< on those of the simulation, beside it
  staging  ///< on nodes of their own, to which data are sent
};

/// Who is a staging node.
enum class StagingPlace {
  process,  ///< `leat staging`, started there
  ranks     ///< the ranks of the last nodes of the job, in leat_split
};

/// What becomes of what a staging node was to do, when it is lost.
enum class WhenLost {
  node,   ///< each node of the simulation does it for its own ranks
  other,  ///< another staging node does it, and if there is none, as `node`
  fail    ///< nobody: it is lost, and said to be
};

/// What a variable keeps of what comes in a period. latest: the value that came last, of every="last".
enum class Operation { instant, mean, minimum, maximum, accumulate, variance, latest };

/// How long a node keeps an iteration that it sends to a staging node.
enum class KeepUntil {
  received,  ///< until that has all of it in memory
  stored     ///< until it is through all stores there
};

// <Struct>Fields: what stands in the XML as it is. fields.def has them, one line each.
#define LEAT_ELEMENT(Struct) struct Struct##Fields {
#define LEAT_FIELD(type, member, usual, attribute) type member{usual};
#define LEAT_END \
  }              \
  ;
#include "lib/model/fields.def"

struct Parameter : ParameterFields {
  using Kind = ParameterKind;
  ParameterValue value;  ///< without one the simulation sets it before it is needed
  SourceLocation where;
};

struct Dimension {
  /// In files; never empty: "<layout>_<index>" when the XML names none.
  std::string name;
  Expression extent;  ///< of a block, ghosts included; of "?": an empty program
  bool varying =
      false;  ///< "?" or "?n" in the XML: each block has its own, by leat_set_extent, else by the parameters
  Expression global;    ///< of the whole, without ghosts; empty program when there is none
  Expression position;  ///< where a rank's first block begins in it; empty program: calls say it
  std::int64_t ghost_low = 0;
  std::int64_t ghost_high = 0;
};

/// Dimensions in C order, whatever the order in the XML: the last one varies fastest in memory.
struct Layout : LayoutFields {
  std::vector<Dimension> dimensions;  ///< 0 to kMaxDims; none is a scalar
  bool has_global = false;
  bool partial = false;  ///< holes in the global array are meant
  SourceLocation where;
};

/// Which parameter is the time.
struct TimeAxis : TimeAxisFields {
  std::uint32_t parameter = 0;  ///< a real one
};

struct Option {
  std::string name;
  std::string value;
  SourceLocation where;  ///< of the value
};

/// A number of origin="..." or spacing="..." that parameters give, so that it is known at run time.
struct MeshNumber {
  ArrayExpression expression;
  std::vector<std::uint32_t> parameters;  ///< by the names of that
  bool is_spacing = false;                ///< else of the origin
  std::uint32_t axis = 0;
};

/// Where in space values lie. Axes are in the order x, y, z; x runs along the last dimension of a
/// variable.
struct Mesh : MeshFields {
  using Kind = MeshKind;
  std::uint32_t dims = 0;               ///< of space: 1 to kMaxAxes
  std::vector<double> origin, spacing;  ///< uniform: `dims` each; amr: those of level 0
  /// Of those two, what parameters give (mesh_place.hpp). There stands what the XML's values come to, NaN where it has none.
  std::vector<MeshNumber> given;
  std::vector<std::uint32_t> coordinates;  ///< others: variables, one for each axis or one for all
  std::optional<std::uint32_t> connectivity, offsets, types;  ///< unstructured: variables
  std::int32_t levels = 0;  ///< amr: how many there may be; 0: not known
  std::int32_t ratio = 2;   ///< amr: cells of a level along the edge of a cell of the one below
  SourceLocation where;
};
inline constexpr std::size_t kMaxAxes = 3;

/// How a variable is made of others: by the server, of each block of theirs.
struct Derived {
  struct Input {
    bool is_parameter = false;
    std::uint32_t number = 0;  ///< of the variable, or the parameter
  };

  ArrayExpression expression;
  std::vector<Input> inputs;                ///< by the names of the expression
  std::uint32_t main = 0;                   ///< the variable whose blocks are those of this one
  std::vector<Selected> selection;          ///< of each dimension of that; none: all of it
  std::optional<SpaceReduction> reduction;  ///< of what is selected, over all ranks of the run
  /// `reduction` takes nothing together: it brings what is at a place that moves to all servers, for what is made of it.
  bool only_gathers = false;
  /// Of `reduction`, by dimension of what is selected: values along it become one.
  std::vector<std::uint8_t> is_reduced;
  Operation operation = Operation::instant;
  std::uint32_t period = 0;  ///< number in Model::periods
  /// What it is stored as; none: double, or what it is made of. In memory it is that where a store changes values.
  std::optional<ScalarType> store_type;
  UnitChange change;  ///< of what it comes to, to what is stored
  /// Of `main` along this dimension of that: its derivative, or, between each two, their middle.
  std::optional<std::uint32_t> along;
  Along::What of_neighbours = Along::What::nothing;
  std::optional<Axis> axis;  ///< of a derivative

  /// Values are between two that are there.
  bool interpolates() const {
    return of_neighbours == Along::What::middle ||
           std::any_of(selection.begin(), selection.end(),
                       [](const Selected& each) { return each.place && each.place->is_linear; });
  }

  bool is_over_time() const noexcept { return operation != Operation::instant; }
};

/// when="max(T) > 1000": single values, parameters and events, by which it holds in an iteration or not.
struct Condition {
  enum class Kind { variable, parameter, event };
  struct Input {
    Kind kind = Kind::variable;
    std::uint32_t number = 0;  ///< of that
  };

  ArrayExpression expression;
  std::vector<Input> inputs;  ///< by the names of the expression
};

struct Variable : VariableFields {
  std::optional<Derived> derived;  ///< none: ranks write it
  std::uint32_t layout = 0;
  std::optional<std::uint32_t> mesh;
  Centering centering = Centering::zonal;
  std::vector<Centering> centerings;  ///< on a uniform mesh: along each dimension; else empty
  std::vector<std::uint32_t> stores;  ///< which stores take it
  /// Of one that ranks write: stores take it in iterations that are due by this of Model::periods.
  std::optional<std::uint32_t> period;
  std::vector<Option> options;  ///< what a store may want to know: compression, ...
  SourceLocation where;
};

/// One plugin that takes iterations: built in (`type`) or a library of the user's (`library`).
struct Store : StoreFields {
  const std::string& plugin() const noexcept { return type.empty() ? library : type; }
  /// Of `options`; `otherwise` where it is not given.
  std::string option(std::string_view name, const std::string& otherwise) const {
    for (const Option& each : options)
      if (each.name == name) return each.value;
    return otherwise;
  }
  bool waits = true;                   ///< false: iterations are dropped for it while it is busy
  std::vector<std::string> publishes;  ///< names of what it makes of products
  std::vector<Option> options;
  /// Of `library`: called at events instead of a plugin of its own, as Damaris does.
  std::string function;
  std::int64_t every = 1;  ///< it takes iterations that this divides,
  std::optional<std::uint32_t>
      due;  ///< and of those the ones that are due by the period of this number
  /// All that it takes is over time, in periods of this number; a row of its file is one of them.
  std::optional<std::uint32_t> period;
  bool awaits_event = false;  ///< takes only iterations in which an event that names it happens
  SourceLocation where;
};

inline constexpr char kCheckpoint[] = "checkpoint";  ///< the type of the store of which ranks read
/// It takes what is meant for it alone.
inline bool is_checkpoint(const Store& store) { return store.type == kCheckpoint; }

/// What the simulation, or somebody outside, may signal.
struct Event : EventFields {
  using Scope = EventScope;
  std::vector<std::uint32_t> stores;   ///< those that await it
  std::vector<std::uint32_t> told;     ///< stores whose plugins are told
  std::vector<std::string> scripts{};  ///< names of those that are called only when it happens
  SourceLocation where;
};

/// The user's own Dask scheduler: of a script for Damaris, and of functions of the whole run.
struct DaskScheduler : DaskSchedulerFields {};

/// A script that is written for others says nothing of itself: what Leat's own ones say by their decorator.
struct ForeignScript : ForeignScriptFields {
  std::vector<std::uint32_t> variables;
};

/// A script, or a folder of them.
struct ScriptSource : ScriptSourceFields {
  std::string path;
  bool is_folder = false;
  bool waits = false;  ///< false: iterations are dropped for it while it is busy
  std::optional<ForeignScript> foreign;
  std::optional<DaskScheduler> dask;
  SourceLocation where;

  ScriptForm form() const noexcept { return foreign ? foreign->form : ScriptForm::leat; }
};

struct Scripts : ScriptsFields {
  std::vector<ScriptSource> sources;
  SourceLocation where;
  bool exist() const noexcept { return !sources.empty(); }
};

struct Architecture : DedicatedFields, BufferFields {
  /// All servers of the run drop the same iterations.
  bool drops_together() const noexcept {
    return overflow_policy == OverflowPolicy::drop_iteration && drop_scope == DropScope::run;
  }
  NetworkFields network;
  StagingFields staging;
  SourceLocation spill_where;
};

struct Log : LogFields {};

/// What all <data> say together.
struct Data : DataFields {};

struct Model : SimulationFields {
  std::string source_text;  ///< the XML as read, includes not expanded; for provenance
  std::vector<std::pair<std::string, std::string>> included{};  ///< paths and texts of its includes
  Architecture architecture;
  Log log;
  Data data;
  std::vector<Parameter> parameters;
  std::optional<TimeAxis> time;
  std::vector<Layout> layouts;
  std::vector<Mesh> meshes;
  std::vector<Variable> variables;
  std::vector<Every> periods;                        ///< that variables and stores have, each once
  std::vector<std::optional<Condition>> conditions;  ///< by period: of those that have one
  std::vector<std::uint32_t>
      derived_order;  ///< derived variables, each after those that it is made of
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
