// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/append.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <functional>
#include <map>

#include "lib/base/scalar.hpp"
#include "lib/base/text.hpp"
#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"

namespace leat::hdf5 {
namespace {

using Differences = std::vector<std::string>;

// What something is, by names for people, in order.
using Facts = std::vector<std::pair<std::string, std::string>>;

std::string in_quotes(const std::string& text) { return '"' + text + '"'; }
std::string yes_or_no(bool is_so) { return is_so ? "true" : "false"; }
std::string in_words(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

std::string type_name(std::uint32_t type) { return scalar_name(static_cast<ScalarType>(type)); }

std::string centering_name(std::uint32_t centering) {
  return centering == LEAT_NODAL ? "nodal" : centering == LEAT_UNPLACED ? "none" : "zonal";
}

std::string kind_name(std::uint32_t kind) {
  switch (static_cast<leat_mesh_kind>(kind)) {
    case LEAT_MESH_UNIFORM:
      return "uniform";
    case LEAT_MESH_RECTILINEAR:
      return "rectilinear";
    case LEAT_MESH_CURVILINEAR:
      return "curvilinear";
    case LEAT_MESH_UNSTRUCTURED:
      return "unstructured";
    case LEAT_MESH_POINTS:
      return "points";
    case LEAT_MESH_AMR:
      return "amr";
  }
  return "unknown";
}

// XML that was only laid out anew means the same.
std::string as_one_word(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

Facts facts_of(const leat_run& run, const leat_variable& variable) {
  std::string dimensions;
  for (std::uint32_t d = 0; d < variable.dims; ++d)
    dimensions += (d > 0 ? ", " : "") + std::string(variable.dimension[d].name) +
                  (variable.dimension[d].varying ? " (of any length)" : "");
  const leat_mesh* const mesh = leat_variable_mesh(&run, &variable);
  const StoredAs as = stored_as(variable);
  return {{"type", type_name(variable.type)},
          {"scale", as.is_packed() ? in_words(as.scale) : "none"},
          {"offset", as.is_packed() ? in_words(as.offset) : "none"},
          {"keep-bits", as.keep_bits > 0 ? std::to_string(as.keep_bits) : "all"},
          {"dimensions", "(" + dimensions + ")"},
          {"global array", yes_or_no(variable.has_global != 0)},
          {"time-varying", yes_or_no(variable.time_varying != 0)},
          {"unit", in_quotes(variable.unit)},
          {"mesh", in_quotes(mesh ? mesh->name : "")},
          {"centering", mesh ? centering_name(variable.centering) : ""}};
}

std::string variable_name(const leat_run& run, std::int32_t number) {
  if (number < 0 || static_cast<std::uint64_t>(number) >= run.variable_count) return "none";
  return in_quotes(leat_variable_at(&run, static_cast<std::uint64_t>(number))->name);
}

std::string numbers_in_words(const double* numbers, std::uint32_t count) {
  std::vector<std::string> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(in_words(numbers[i]));
  return "(" + leat::joined(all, ", ") + ")";
}

// Of a mesh whose place the simulation says it is compared when that has said it: differences_of_places().
Facts facts_of_place(const leat_mesh& mesh) {
  return {{"origin", numbers_in_words(mesh.origin, mesh.dims)},
          {"spacing", numbers_in_words(mesh.spacing, mesh.dims)}};
}

Facts facts_of(const leat_run& run, const leat_mesh& mesh) {
  Facts facts{{"type", kind_name(mesh.kind)},
              {"axes", std::to_string(mesh.dims)},
              {"unit", in_quotes(mesh.unit)}};
  if (mesh.kind == LEAT_MESH_UNIFORM || mesh.kind == LEAT_MESH_AMR) {
    facts.emplace_back("ratio",
                       mesh.kind == LEAT_MESH_AMR ? std::to_string(mesh.ratio) : std::string());
    return facts;
  }
  std::vector<std::string> coordinates;
  for (std::uint32_t i = 0; i < mesh.coordinate_count; ++i)
    coordinates.push_back(variable_name(run, mesh.coordinate[i]));
  facts.emplace_back("coordinates", leat::joined(coordinates, ", "));
  if (mesh.kind != LEAT_MESH_UNSTRUCTURED) return facts;
  facts.emplace_back("connectivity", variable_name(run, mesh.connectivity));
  facts.emplace_back("offsets", variable_name(run, mesh.offsets));
  facts.emplace_back("types", variable_name(run, mesh.types));
  facts.emplace_back("cell type", std::to_string(mesh.cell_type));
  return facts;
}

Facts facts_of_time(const leat_run& run) {
  const bool has_time = leat_run_time_parameter(&run) >= 0;
  return {{"<time>", has_time ? "there" : "not there"},
          {"unit of <time>", in_quotes(has_time ? run.time_unit : "")},
          {"calendar of <time>", in_quotes(has_time ? run.calendar : "")}};
}

// What `whose` is: "variable "t": ".
void compare(const std::string& whose, const Facts& file, const Facts& xml, Differences* to,
             const char* where = "the XML") {
  for (const auto& [what, value] : file) {
    const auto same = std::find_if(
        xml.begin(), xml.end(), [&, &name = what](const auto& fact) { return fact.first == name; });
    const std::string now = same == xml.end() ? "none" : same->second;
    if (now != value)
      to->push_back(whose + what + " is " + value + " in the file, and " + now + " in " + where);
  }
}

struct Named {
  std::string name;
  Facts facts;
};

// In the order of the first.
void compare(const std::string& kind, const std::vector<Named>& file, const std::vector<Named>& xml,
             Differences* to) {
  const auto find = [](const std::vector<Named>& all, const std::string& name) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Named& each) { return each.name == name; });
  };
  std::vector<std::string> in_file, in_xml;  // those of both, in order
  for (const Named& each : file) {
    const auto other = find(xml, each.name);
    if (other == xml.end()) {
      to->push_back(kind + in_quotes(each.name) + " is in the file, and not in the XML");
      continue;
    }
    in_file.push_back(each.name);
    compare(kind + in_quotes(each.name) + ": ", each.facts, other->facts, to);
  }
  for (const Named& each : xml) {
    if (find(file, each.name) == file.end())
      to->push_back(kind + in_quotes(each.name) + " is in the XML, and not in the file");
    else
      in_xml.push_back(each.name);
  }
  for (std::size_t i = 0; i < in_file.size() && i < in_xml.size(); ++i) {
    if (in_file[i] == in_xml[i]) continue;
    to->push_back(kind + in_quotes(in_xml[i]) + " comes before " + in_quotes(in_file[i]) +
                  " in the XML, and behind it in the file");
    return;
  }
}

std::vector<Named> variables_of(const leat_run& run) {
  std::vector<Named> all;
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const leat_variable& variable = *leat_variable_at(&run, i);
    // Another compression is no other model.
    if (option(variable.options, variable.option_count, kErrorOf).empty())
      all.push_back({variable.name, facts_of(run, variable)});
  }
  return all;
}

std::vector<Named> meshes_of(const leat_run& run) {
  std::vector<Named> all;
  for (std::uint64_t i = 0; i < leat_run_mesh_count(&run); ++i) {
    const leat_mesh& mesh = *leat_mesh_at(&run, i);
    all.push_back({mesh.name, facts_of(run, mesh)});
  }
  return all;
}

}  // namespace

namespace {

// What the values stand for: means in the midst of sums would be told by nobody.
void compare_methods(hid_t file, const leat_run& run, Differences* to) {
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const leat_variable& variable = *leat_variable_at(&run, i);
    if (!is_dataset(file, variable.name)) continue;
    const Id dataset = open_dataset(file, variable.name);
    const auto differs = [&](const char* attribute, const std::string& now, const char* what) {
      const std::string before = text_attribute(dataset, attribute, "");
      if (as_one_word(before) == as_one_word(now)) return false;
      to->push_back("variable " + in_quotes(variable.name) + ": " + what + " (" + attribute +
                    ") is " + in_quotes(before) + " in the file, and " + in_quotes(now) +
                    " in the XML");
      return true;
    };
    if (!differs("cell_methods", variable.cell_methods, "what its values are"))
      differs("leat_definition", variable.definition, "how it is made");
    if (!text_attribute(dataset, "leat_vector", "").empty() && *variable.vector)
      differs("leat_vector", variable.vector, "of which vector it is which component");
  }
}

// Of meshes of the same name that have a place in both.
void compare_places(const leat_run& file, const leat_run& run, const char* where, Differences* to) {
  for (const auto& [before, now] : meshes_elsewhere(file, run))
    compare("mesh " + in_quotes(now->name) + ": ", facts_of_place(*before), facts_of_place(*now),
            to, where);
}

}  // namespace

std::vector<std::string> differences(hid_t file, const leat_run& run) {
  if (has_attribute(file, kViewMark) && has_attribute(file, kSplitText))
    return {"it shows files in pieces (split=\"" + text_attribute(file, kSplitText) +
            "\"), and this run has no split"};
  if (has_attribute(file, kViewMark) || has_attribute(file, kViewName) != has_view(run))
    return {is_one_of_several_nodes(run)
                ? "it is no part of a run with several servers"
                : "it is of a run with several servers, and this run has one"};
  const DescribedRun before(file);
  Differences all;
  compare("variable ", variables_of(before.run()), variables_of(run), &all);
  compare("mesh ", meshes_of(before.run()), meshes_of(run), &all);
  compare_places(before.run(), run, "the XML", &all);
  compare("", facts_of_time(before.run()), facts_of_time(run), &all);
  if (all.empty()) compare_methods(file, run, &all);
  return all;
}

std::vector<std::string> differences_of_places(const leat_run& file, const leat_run& run) {
  Differences all;
  compare_places(file, run, "this run", &all);
  return all;
}

std::vector<std::string> differences(hid_t file, const StoredRows& stored, const leat_run& run,
                                     const leat_iteration_data& first) {
  Differences all;
  compare_places(DescribedRun(file).run(), run, "this run", &all);
  std::map<std::uint32_t, Shape> globals;
  for (const leat_block& block : Blocks(first)) {
    const leat_variable& variable = *leat_variable_at(&run, block.variable);
    if (variable.has_global && block.has_position && !varies_in_shape(variable))
      globals.try_emplace(block.variable, block.global, block.global + variable.dims);
  }
  for (const auto& [number, global] : globals) {
    const Shape before = stored.last_global(number);
    if (before.size() == global.size() && !before.empty() && before != global)
      all.push_back("variable " + in_quotes(leat_variable_at(&run, number)->name) +
                    ": its global extents are " + listed(before) + " in the file, and " +
                    listed(global) + " in this run");
  }
  if (stored.iterations().empty()) return all;
  std::vector<Named> stored_ones, xml;
  for (const StoredRows::Parameter& each : stored.parameters())
    stored_ones.push_back({each.name, {{"type", type_name(each.type)}}});
  for (std::uint64_t i = 0; i < first.parameter_count; ++i) {
    const leat_parameter& each = *leat_parameter_at(&first, i);
    xml.push_back({each.name, {{"type", type_name(each.type)}}});
  }
  compare("parameter ", stored_ones, xml, &all);
  return all;
}

std::string refusal(const std::string& path, const std::vector<std::string>& differences) {
  std::string text = "cannot append to " + path + ", nothing of which is changed: it differs in " +
                     counted(differences.size(), "thing") + " from this run:";
  for (const std::string& each : differences) text += "\n  " + each;
  return text +
         "\nLet the XML say what it said for that file, or take append=\"true\" away: then "
         "the file is set aside, and a new one is begun";
}

std::string changed_constant(const StoredIteration& stored, const leat_variable& variable,
                             const std::vector<const leat_block*>& blocks) {
  const auto differs = [&](const leat_block& block) {
    const auto same =
        std::find_if(stored.blocks.begin(), stored.blocks.end(), [&](const leat_block& each) {
          return each.rank == block.rank && each.block == block.block &&
                 std::equal(each.extent, each.extent + variable.dims, block.extent) &&
                 (!variable.has_global ||
                  std::equal(each.position, each.position + variable.dims, block.position));
        });
    if (same == stored.blocks.end()) return true;
    const MemoryPart own = own_part(variable, block);
    const std::uint64_t element = H5Tget_size(type_of(variable.type));
    if (product(own.count) == 0) return false;
    Shape at = zeros(own.count), step(own.count.size(), 1);
    if (!step.empty()) step.back() = own.count.back();
    const std::uint64_t line = (step.empty() ? 1 : step.back()) * element;
    do {
      std::uint64_t from = 0;
      for (std::size_t d = 0; d < at.size(); ++d)
        from = from * own.extents[d] + own.start[d] + at[d];
      if (std::memcmp(static_cast<const char*>(same->data) + from * element,
                      static_cast<const char*>(block.data) + from * element, line) != 0)
        return true;
    } while (next_piece(own.count, step, &at));
    return false;
  };
  for (const leat_block* block : blocks)
    if (differs(*block))
      return "block " + std::to_string(block->block) + " of rank " + std::to_string(block->rank);
  return "";
}

}  // namespace leat::hdf5
