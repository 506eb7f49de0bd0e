// SPDX-License-Identifier: Apache-2.0
#include "server/cli/check_report.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "lib/base/stored_as.hpp"
#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"
#include "lib/model/expression_parser.hpp"
#include "lib/node/output_folders.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/process.hpp"
#include "lib/shm/leases.hpp"
#include "server/cli/check_periods.hpp"
#include "server/cli/placement.hpp"
#include "server/cli/set_values.hpp"

namespace leat::cli {
namespace {

using Overrides = model::IntegerValues::Overrides;
std::vector<std::string> shape(const model::Layout& layout, const model::IntegerValues& known) {
  std::vector<std::string> extents;
  for (const model::Dimension& dimension : layout.dimensions) {
    const ExpressionValue value = known.evaluate(dimension.extent);
    const bool is_known = !dimension.varying && value.fault == ExpressionFault::none;
    extents.push_back(dimension.varying ? "?"
                      : is_known        ? std::to_string(value.value)
                                        : dimension.extent.text);
  }
  return extents;
}

void judge(CheckReport& report, model::Severity severity, std::string message) {
  report.diagnostics.push_back({severity, {report.options.file, 0, 0}, std::move(message)});
}

void judge_sizes(CheckReport& report) {
  report.memory_complete = true;
  for (const model::VariableEstimate& each : report.memory.variables) {
    report.memory_complete = report.memory_complete && (each.bytes_per_rank || !each.taken);
    if (!each.impossible) continue;
    judge(report, model::Severity::error,
          "variable \"" + report.model->variables[each.variable].name +
              "\" can have no size: " + each.why_unknown);
  }
}

void judge_buffer(CheckReport& report) {
  const std::uint64_t need = report.memory.known_bytes_per_node;
  const std::uint64_t have = report.memory.buffer_bytes;
  if (need == 0) return;
  report.iterations_that_fit = have / need;
  const std::string sizes = format_bytes(need) + " per node; the buffer has " + format_bytes(have);
  if (need > have) {
    judge(report, model::Severity::error,
          "one iteration does not fit into the buffer: it takes " + sizes +
              ". Give <buffer size=\"...\"> two times as much or more");
  } else if (need > have / 2) {
    judge(report, model::Severity::warning,
          "only one iteration fits into the buffer, so the simulation waits while the server "
          "writes: it takes " +
              sizes);
  }
}

// A warning: the node of a run may have a disk that this machine has not.
void judge_spill(CheckReport& report) {
  const model::Architecture& architecture = report.model->architecture;
  if (architecture.overflow_policy != model::OverflowPolicy::spill) return;
  const std::string why = node::why_no_spill_folder(architecture.spill_folder);
  if (why.empty()) return;
  report.diagnostics.push_back({model::Severity::warning, architecture.spill_where,
                                why + ", on this machine; a run will not start without it"});
}

// Coordinates begin where the whole does: without one it is known only of the one block of one rank.
void judge_places(CheckReport& report) {
  const model::Model& model = *report.model;
  for (const model::Variable& each : model.variables) {
    const model::Layout& layout = model.layouts[each.layout];
    if (!each.mesh || model.meshes[*each.mesh].kind != model::Mesh::Kind::uniform) continue;
    const bool varies = std::any_of(layout.dimensions.begin(), layout.dimensions.end(),
                                    [](const model::Dimension& d) { return d.varying; });
    if (layout.has_global || (report.options.ranks == 1 && !varies && layout.blocks == 1)) continue;
    report.diagnostics.push_back(
        {model::Severity::warning, each.where,
         "variable \"" + each.name + "\" lies on the uniform mesh \"" +
             model.meshes[*each.mesh].name + "\", and its layout \"" + layout.name +
             "\" has no global=\"...\": nobody can tell where on the mesh its blocks lie" +
             (varies ? "" : ", unless one rank writes one block that is the whole") +
             ", and it is stored without the mesh. Give the layout global=\"...\", and each block "
             "its "
             "place by leat_set_position; patches of several levels lie on a mesh of type "
             "\"amr\""});
  }
}

// Once for each layout.
void note_blocks(CheckReport& report) {
  const model::Model& model = *report.model;
  if (report.options.ranks.value_or(1) < 2) return;
  std::set<std::uint32_t> said;
  for (const model::Variable& each : model.variables) {
    const model::Layout& layout = model.layouts[each.layout];
    const bool varies = std::any_of(layout.dimensions.begin(), layout.dimensions.end(),
                                    [](const model::Dimension& d) { return d.varying; });
    if (layout.has_global || varies || each.stores.empty() || !said.insert(each.layout).second)
      continue;
    std::string shape = "block";
    for (const model::Dimension& d : layout.dimensions) shape += ", " + d.name;
    report.diagnostics.push_back({model::Severity::note, layout.where,
                                  "layout \"" + layout.name +
                                      "\" has no global=\"...\": with several ranks \"" +
                                      each.name + "\" is stored as (" + shape +
                                      "), a row for each block, and block_rank and block_iteration "
                                      "say whose it is. For a row "
                                      "for each iteration give it global=\"...\"" +
                                      (layout.dimensions.empty() ? ", and dimensions=\"1\"" : "")});
  }
}

void add_parameters(CheckReport& report, const Overrides& overrides) {
  const auto& parameters = report.model->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!is_set(parameters[i].value) && !overrides[i]) {
      report.set_by_simulation.push_back(parameters[i].name);
    }
  }
}

// The value of the XML is often one that only stands there until the simulation sets it.
void note_placeholder(CheckReport& report, const model::Parameter& parameter) {
  const std::string value = std::to_string(as_integer(parameter.value));
  report.diagnostics.push_back({model::Severity::note, parameter.where,
                                "sizes are those of " + parameter.name + "=" + value +
                                    ": where the simulation sets another value, say it by --set " +
                                    parameter.name + "=..."});
  report.placeholders.push_back(parameter.name + "=" + value);
}

// Of what is taken: by which parameters it is known, or not.
void note_what_sizes_need(CheckReport& report, const Overrides& overrides) {
  const model::Model& model = *report.model;
  std::set<std::uint32_t> used;
  for (const model::VariableEstimate& each : report.memory.variables) {
    if (!each.taken) continue;
    const model::Variable& variable = model.variables[each.variable];
    bool is_open = false;
    for (const model::Dimension& dimension : model.layouts[variable.layout].dimensions) {
      is_open = is_open || dimension.varying;
      for (const ExpressionOp& op : dimension.extent.program)
        if (op.kind == ExpressionOp::parameter && !overrides[op.index]) used.insert(op.index);
    }
    if (is_open) report.sizes_at_writes.push_back(variable.name);
  }
  for (const std::uint32_t index : used) {
    const model::Parameter& parameter = model.parameters[index];
    if (!is_set(parameter.value))
      report.sizes_need.push_back(parameter.name);
    else if (as_integer(parameter.value) <= 1)
      note_placeholder(report, parameter);
  }
}

std::int64_t ranks_of_node(const CheckOptions& options) {
  const std::int64_t ranks = options.ranks.value_or(options.per_node.value_or(1));
  return std::min(ranks, options.per_node.value_or(ranks));
}

}  // namespace

bool CheckReport::good() const {
  return std::none_of(diagnostics.begin(), diagnostics.end(), [](const model::Diagnostic& d) {
    return d.severity == model::Severity::error;
  });
}

Result<CheckReport> size_up(const CheckOptions& options) {
  model::ReadResult read = model::read_file(options.file);
  CheckReport report;
  report.options = options;
  report.diagnostics = std::move(read.diagnostics);
  report.model = std::move(read.model);
  report.per_node = ranks_of_node(options);
  if (!report.model) return report;
  const Result<Overrides> overrides = set_values(options.set, *report.model);
  if (!overrides) return overrides.error();
  const model::IntegerValues known(report.model->parameters, *overrides);
  for (const model::Variable& each : report.model->variables) {
    report.shapes.push_back(shape(report.model->layouts[each.layout], known));
  }
  report.memory = model::estimate_memory(*report.model, report.per_node,
                                         shm::RegionArena::block_bytes, *overrides);
  add_parameters(report, *overrides);
  note_what_sizes_need(report, *overrides);
  judge_sizes(report);
  judge_placing(*report.model, known, &report.diagnostics);
  judge_buffer(report);
  return report;
}

Result<CheckReport> check_file(const CheckOptions& options) {
  Result<CheckReport> sized = size_up(options);
  if (!sized || !sized->model) return sized;
  CheckReport& report = *sized;
  if (const Result<void> length = check_length(report); !length) return length.error();
  judge_spill(report);
  judge_places(report);
  note_blocks(report);
  check_placement(report);
  check_stores(report);
  check_scripts(report);
  check_products(report);
  return sized;
}

// Options of stores, looked at by the program that comes with their plugin: `leat` knows nothing of
// HDF5 and its filters.

namespace {

// Filters are libraries that have to be loaded, from wherever they lie.
constexpr std::int64_t kQuestionLimitNs = 60'000'000'000;

std::string program_of(const std::string& type) {
  return os::path_beside_program(LEAT_PLUGIN_FOLDER "/check-" + type);
}

// What is asked of one program, and where the answers belong.
struct Questions {
  std::string text;
  std::vector<model::SourceLocation> places;

  void add(const std::string& whose, std::uint32_t type, std::size_t dims,
           const model::Option& option) {
    for (const std::string& word : {whose, std::to_string(type), std::to_string(dims), option.name,
                                    option.value, std::to_string(places.size())})
      text += word + '\0';
    places.push_back(option.where);
  }
};

std::vector<std::string> words_in(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0, end; (end = text.find('\0', at)) != std::string::npos; at = end + 1)
    words.push_back(text.substr(at, end - at));
  return words;
}

// What says how values are put down is right where the XML is: it is not the store's.
bool is_for_store(const model::Option& option) {
  const char* const others[] = {kStoreType, kScale, kOffset, kKeepBits};
  return std::find(std::begin(others), std::end(others), option.name) == std::end(others);
}

// A variable's options go to each type of store that takes it, and to none twice.
std::map<std::string, Questions> questions_about(const model::Model& model) {
  std::map<std::string, Questions> by_type;
  for (const model::Store& store : model.stores) {
    for (const model::Option& option : store.options)
      by_type[store.type].add("store \"" + store.name + "\"", 0, 0, option);
  }
  for (const model::Variable& variable : model.variables) {
    std::map<std::string, const model::Variable*> asked;
    for (const std::uint32_t store : variable.stores) asked[model.stores[store].type] = &variable;
    const model::Layout& layout = model.layouts[variable.layout];
    const StoredAs as = stored_as(variable.options);
    const auto stored = static_cast<std::uint32_t>(as.is_any() ? as.type : layout.type);
    for (const auto& [type, of] : asked) {
      for (const model::Option& option : of->options) {
        if (is_for_store(option))
          by_type[type].add("variable \"" + of->name + "\"", stored, layout.dimensions.size(),
                            option);
      }
    }
  }
  by_type.erase("");  // a library of the user's
  return by_type;
}

// One answer for each place: of a group's compression one is told, not one for each variable in it.
void take(CheckReport& report, const Questions& questions, const std::vector<std::string>& words) {
  std::set<std::tuple<std::string, int, int>> answered;
  for (std::size_t i = 0; i + 2 < words.size(); i += 3) {
    const std::size_t number = std::strtoul(words[i].c_str(), nullptr, 10);
    if (number >= questions.places.size()) return;
    const model::SourceLocation& where = questions.places[number];
    if (!answered.emplace(where.file, where.line, where.column).second) continue;
    const auto severity =
        words[i + 1] == "warning" ? model::Severity::warning : model::Severity::error;
    report.diagnostics.push_back({severity, where, words[i + 2]});
  }
}

// Of this machine; the run may have others.
void check_output_folders(CheckReport& report) {
  const auto warn = [&report](const model::SourceLocation& where, const std::string& why) {
    if (!why.empty()) report.diagnostics.push_back({model::Severity::warning, where, why});
  };
  for (const model::Store& store : report.model->stores) {
    for (const model::Option& option : store.options) {
      if (option.name == "folder") warn(option.where, node::why_no_output_folder(option.value));
    }
  }
  const model::Scripts& scripts = report.model->scripts;
  if (scripts.exist()) warn(scripts.where, node::why_no_output_folder(scripts.output));
}

}  // namespace

void check_stores(CheckReport& report) {
  for (const model::Store& store : report.model->stores) {
    std::string warning = store.library.empty() ? "" : os::group_warning(store.library);
    if (!warning.empty())
      report.diagnostics.push_back({model::Severity::warning, store.where, std::move(warning)});
  }
  check_output_folders(report);
  for (const auto& [type, questions] : questions_about(*report.model)) {
    const std::string program = program_of(type);
    std::error_code missing;
    if (!std::filesystem::exists(program, missing)) continue;  // it has nothing to say
    const Result<std::string> output = os::run_program({program}, questions.text, kQuestionLimitNs);
    if (output) {
      take(report, questions, words_in(*output));
    } else {
      report.diagnostics.push_back(
          {model::Severity::warning, questions.places.front(),
           "the options of " + type + " stores could not be looked at: " + output.error().message});
    }
  }
}

// Who takes products of whom, stores and scripts together: circles, and sources that there are not.

namespace {

struct Taker {
  model::ProductMaker maker;
  model::SourceLocation where;
};

std::vector<Taker> takers_of(const CheckReport& report) {
  std::vector<Taker> takers;
  for (const model::Store& store : report.model->stores)
    takers.push_back({model::maker_of(store), store.where});
  for (const CheckedScript& script : report.scripts) {
    for (const Json& function : script.functions)
      takers.push_back(
          {{script.name, function["products"], function["publishes"], script.on_staging},
           {script.file, function["line"].get<int>(), 0}});
  }
  return takers;
}

// A pattern that names nobody is a slip of the pen: nothing would ever come.
void warn_of_unknown_sources(CheckReport& report, const std::vector<Taker>& takers) {
  std::vector<std::string> sources;
  for (const model::Store& store : report.model->stores) sources.push_back(store.name);
  for (const CheckedScript& script : report.scripts) sources.push_back(script.name);
  for (const Taker& taker : takers) {
    for (const std::string& pattern : taker.maker.takes) {
      const std::string source = pattern.substr(0, pattern.find_first_of("@/"));
      const bool is_there =
          std::any_of(sources.begin(), sources.end(),
                      [&](const std::string& name) { return model::is_wanted({source}, name); });
      if (is_there) continue;
      report.diagnostics.push_back({model::Severity::warning, taker.where,
                                    "products=\"" + pattern +
                                        "\": no store and no script is called \"" + source + "\"" +
                                        did_you_mean(source, sources)});
    }
  }
}

}  // namespace

void check_products(CheckReport& report) {
  const std::vector<Taker> takers = takers_of(report);
  warn_of_unknown_sources(report, takers);
  std::vector<model::ProductMaker> makers;
  for (const Taker& taker : takers) makers.push_back(taker.maker);
  for (std::size_t i = report.model->stores.size(); i < takers.size();
       ++i) {  // of stores it is said
    if (std::string why = model::why_never_there(takers[i].maker, makers); !why.empty())
      report.diagnostics.push_back({model::Severity::error, takers[i].where, std::move(why)});
  }
  const std::string why = model::why_endless(makers);
  if (!why.empty())
    report.diagnostics.push_back({model::Severity::error, report.model->scripts.where, why});
}

// The part of `leat check` that looks at cores and memory nodes.

void check_placement(CheckReport& report) {
  const CheckOptions& asked = report.options;
  if (asked.machine.empty()) return;
  PlacementOptions options;
  options.machine = asked.machine;
  if (asked.ranks || asked.per_node) options.ranks = report.per_node;
  const Result<PlacementReport> placed = report_placement(options, report.model->architecture);
  const auto say = [&](model::Severity severity, const std::string& text) {
    report.diagnostics.push_back({severity, {asked.file, 0, 0}, text});
  };
  if (!placed) return say(model::Severity::error, placed.error().message);
  for (const std::string& line : placed->warnings) say(model::Severity::warning, line);
  report.server_place = servers_text(*placed);
  report.memory_place = memory_text(*placed);
}

}  // namespace leat::cli
