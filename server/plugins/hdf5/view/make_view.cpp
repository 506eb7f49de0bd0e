// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/make_view.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"
#include "server/plugins/hdf5/view/blocks.hpp"
#include "server/plugins/hdf5/view/view.hpp"
#include "server/plugins/hdf5/vtkhdf/vtkhdf.hpp"

namespace leat::hdf5 {
namespace {

// A variable that the servers of a run have stored as different things: the XML of their nodes
// differs. HDF5 would convert the values of one into the type of the other, wrongly and in silence;
// so the view shows those that are like the first part's, and says what it leaves out.

// Of a view and of a variable in it: what is left out of it, and why, by lines.
constexpr const char* kLeftOut = "leat_left_out";

std::string type_in_words(hid_t dataset) {
  const Id type(H5Dget_type(dataset), "the type of a variable");
  const std::string bits = std::to_string(8 * H5Tget_size(type)) + "-bit ";
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return (H5Tget_sign(type) == H5T_SGN_NONE ? "unsigned " : "") + bits + "integers";
    case H5T_FLOAT:
      return bits + "floating-point numbers";
    case H5T_STRING:
      return "text";
    default:
      return bits + "values";
  }
}

std::string form_in_words(hid_t dataset) {
  const std::string layout = text_attribute(dataset, "leat_layout");
  const std::string form = layout == "global"    ? "a global array"
                           : layout == "varying" ? "blocks of varying sizes"
                                                 : "a block of each rank";
  const bool constant = integer_attribute(dataset, "leat_constant", 0) != 0;
  return form + " with " + std::to_string(extents_of(dataset).size()) + " dimensions in the file" +
         (constant ? ", once" : "");
}

// All that has to be the same in all parts.
struct Kind {
  std::string type, form;
  auto operator<=>(const Kind&) const = default;
};

Kind kind_of(hid_t dataset) { return {type_in_words(dataset), form_in_words(dataset)}; }

std::string name_of_file(const Part& part) {
  return std::filesystem::path(part.path).filename().string();
}

// The parts that have the variable as another type, form or number of dimensions than the first
// one that has it. They are left out of it: variable->in_part of them is not open any more, and
// variable->left_out says why.
void leave_out_unlike(const std::vector<Part>& parts, ViewedVariable* variable) {
  const Kind wanted = kind_of(variable->like());
  std::map<Kind, std::string> unlike;  // files
  for (std::size_t part = 0; part < parts.size(); ++part) {
    Id& dataset = variable->in_part[part];
    if (!dataset.is_open()) continue;
    const Kind here = kind_of(dataset);
    if (here == wanted) continue;
    std::string& files = unlike[here];
    files += (files.empty() ? "" : ", ") + name_of_file(parts[part]);
    variable->unlike.insert(part);
    dataset = Id();
  }
  for (const auto& [kind, files] : unlike) {
    const bool is_type = kind.type != wanted.type;
    variable->left_out.push_back(
        "\"" + variable->name + "\" of " + files + ": " + (is_type ? kind.type : kind.form) +
        " there, " + (is_type ? wanted.type : wanted.form) + " in " +
        name_of_file(parts[variable->first]) +
        "; the values are in that part. The XML of their nodes differs: give all the same one");
  }
}

// What stands beside the variable in parts that are left out is not shown either.
void forget_tables_of_unlike(View& view, const ViewedVariable& variable) {
  for (const std::size_t part : variable.unlike) {
    for (const char* suffix : {"_region", "_written", "_count", "_extent", "_stored"}) {
      const std::string table = table_of(view.parts[part].file, variable.name, suffix);
      if (!table.empty()) view.done.insert(table);
    }
  }
}

namespace fs = std::filesystem;

constexpr int kMostTries = 20;

// As the nodes along an axis of a rectilinear mesh are.
bool is_line(const ViewedVariable& variable) {
  if (!is_array(variable) || !variable.constant) return false;
  return extents_of(variable.like()).size() - (has_slots(variable.like()) ? 1 : 0) == 1;
}

bool is_coordinate(const ViewedVariable& variable) {
  return is_line(variable) && own_dimensions(variable, 1)[0] == variable.name;
}

// Another part of the same server.
bool has_before(const std::vector<Part>& parts, const ViewedVariable& variable, std::size_t part) {
  for (std::size_t i = 0; i < part; ++i) {
    if (variable.in_part[i].is_open() && parts[i].first_rank == parts[part].first_rank) return true;
  }
  return false;
}

// What does not vary in time is in each piece of a server: the last one counts, as in one file, where it is written over.
void forget_before(const std::vector<Part>& parts, std::size_t part, ViewedVariable* variable) {
  for (std::size_t i = 0; i < part; ++i) {
    if (parts[i].first_rank == parts[part].first_rank) variable->in_part[i] = Id();
  }
  const auto is_open = [](const Id& dataset) { return dataset.is_open(); };
  variable->first = static_cast<std::size_t>(
      std::find_if(variable->in_part.begin(), variable->in_part.end(), is_open) -
      variable->in_part.begin());
}

std::vector<ViewedVariable> variables_of(const std::vector<Part>& parts) {
  std::map<std::string, ViewedVariable> found;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const std::string& name : own_datasets_in(parts[i])) {
      Id dataset = open_dataset(parts[i].file, name);
      if (!has_attribute(dataset, "leat_layout")) continue;
      ViewedVariable& variable = found[name];
      const bool is_again = variable.constant && has_before(parts, variable, i);
      if (is_again && !parts[i].is_piece) continue;
      if (variable.in_part.empty()) {
        variable.name = name;
        variable.layout = text_attribute(dataset, "leat_layout");
        variable.number = integer_attribute(dataset, "leat_number", 0);
        variable.constant = integer_attribute(dataset, "leat_constant", 0) != 0;
        variable.in_part.resize(parts.size());
        variable.first = i;
      }
      variable.in_part[i] = std::move(dataset);
      if (is_again) forget_before(parts, i, &variable);
    }
  }
  std::vector<ViewedVariable> all;
  for (auto& [name, variable] : found) {
    leave_out_unlike(parts, &variable);
    all.push_back(std::move(variable));
  }
  // What gives dimensions their coordinates comes before what only names them.
  const auto order = [](const ViewedVariable& v) {
    const bool is_on_mesh = noted_axis(v.like(), 0).has_value();
    return std::pair(is_coordinate(v) || is_line(v) ? 0 : is_on_mesh ? 1 : 2, v.number);
  };
  std::stable_sort(all.begin(), all.end(), [&](const ViewedVariable& a, const ViewedVariable& b) {
    return order(a) < order(b);
  });
  return all;
}

template <class T>
void write_list(hid_t file, const std::string& name, hid_t memory, const std::vector<T>& values,
                hid_t like) {
  const Shape count{values.size()};
  const std::string what = "cannot write " + name;
  const Id type(H5Dget_type(like), what), creation(H5Pcreate(H5P_DATASET_CREATE), what);
  set_small_chunks(creation, count);
  const Id dataset(H5Dcreate2(file, name.c_str(), type, space_of(count, {H5S_UNLIMITED}),
                              link_creation(), creation, H5P_DEFAULT),
                   what);
  if (!values.empty())
    check(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), what);
  copy_attributes(like, dataset);
}

// Of the first part that has the row and says its time.
std::vector<double> times_of(const std::vector<Part>& parts, const Rows& rows) {
  std::vector<double> times(rows.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::string name = name_of_times(parts[part].file);
    if (name.empty()) continue;
    const std::vector<double> said = doubles_of(parts[part].file, name);
    for (hsize_t row = 0; row < times.size(); ++row) {
      const std::int64_t from = rows.in_part(part, row);
      if (from >= 0 && static_cast<std::size_t>(from) < said.size() && std::isnan(times[row]))
        times[row] = said[static_cast<std::size_t>(from)];
    }
  }
  return times;
}

// What rows are called after, as in the first part.
void write_iterations(hid_t file, const std::vector<Part>& parts, const Rows& rows) {
  const Part& like = part_with_rows(parts);
  const std::string name = like.iteration_name, scale = like.rows_name;
  write_list(file, name, H5T_NATIVE_INT64, rows.numbers(), open_dataset(like.file, name));
  if (scale.empty() || scale == name) return make_scale(open_dataset(file, name), name);
  write_list(file, scale, H5T_NATIVE_DOUBLE, times_of(parts, rows), open_dataset(like.file, scale));
  make_scale(open_dataset(file, scale), scale);
  attach_scale(open_dataset(file, name), 0, open_dataset(file, scale), "cannot name " + name);
}

void write_flags(View& view, const std::string& source, const std::string& name,
                 const std::vector<std::uint8_t>& flags) {
  const Part& like = part_with_rows(view.parts);
  if (!source.empty() && is_dataset(like.file, source))
    write_list(view.file, name, H5T_NATIVE_UINT8, flags, open_dataset(like.file, source));
  if (is_in(view.file, name)) name_dimensions(view, name, true, {});
}

std::string lines_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

void add_variable(View& view, const ViewedVariable& variable) {
  is_alive();
  view.done.insert(variable.name);
  if (is_array(variable)) {
    add_global(view, variable);
  } else if (variable.layout == "varying") {
    add_ragged(view, variable);
  } else {
    add_blocks(view, variable);
  }
  variable.constant ? add_first_row(view, variable) : add_written_mask(view, variable);
  if (variable.left_out.empty()) return;
  forget_tables_of_unlike(view, variable);
  set_attribute(open_dataset(view.file, variable.name), kLeftOut, lines_of(variable.left_out));
}

// The description is the same in all parts, but where ranks of other servers have said other places.
std::vector<std::string> places_not_shown(const std::vector<Part>& parts, const Part& shown,
                                          const leat_run* run) {
  std::vector<std::string> all;
  if (!run || leat_run_mesh_count(run) == 0) return all;
  const std::string text = text_attribute(shown.file, kRunText, "");
  for (const Part& part : parts) {
    if (text_attribute(part.file, kRunText, "") == text) continue;
    const auto other = described_run(part.file);
    if (!other) continue;
    for (const auto& [elsewhere, mesh] : meshes_elsewhere(other->run(), *run))
      all.push_back("where mesh \"" + std::string(mesh->name) + "\" lies in " + part.name +
                    ": its ranks have given origin or spacing other values than those of " +
                    shown.name + ", where all cells are shown");
  }
  return all;
}

// Returns what it does not show.
std::vector<std::string> fill(hid_t file, const std::vector<Part>& parts,
                              const std::vector<std::string>& files) {
  const Rows rows(parts);
  write_iterations(file, parts, rows);
  const std::vector<ViewedVariable> variables = variables_of(parts);
  std::set<std::string> names;
  for (const ViewedVariable& variable : variables) names.insert(variable.name);
  // A variable of this name, which nobody has written yet.
  const Part& like = part_with_rows(parts);
  for (std::string name = "iteration"; name.size() < like.iteration_name.size(); name += "_")
    names.insert(name);
  DimensionScales scales(file, names);
  MergedTables tables(parts, variables);
  const std::unique_ptr<DescribedRun> run = described_run(like.file);
  View view{file,   parts,  files,
            rows,   scales, coordinate_of_rows(like.file),
            tables, {},     run ? &run->run() : nullptr};
  view.done.insert({like.iteration_name, like.rows_name, like.complete_name});
  write_flags(view, like.complete_name, scales.take_name(scales.in_own_group("iteration_complete")),
              rows.complete());
  for (const ViewedVariable& variable : variables) add_variable(view, variable);
  add_nodes(view);
  add_others(view);
  scales.list_named();
  tables.list_named();
  std::vector<std::string> not_shown = places_not_shown(parts, like, view.run);
  for (const ViewedVariable& variable : variables)
    not_shown.insert(not_shown.end(), variable.left_out.begin(), variable.left_out.end());
  if (!not_shown.empty()) set_attribute(file, kLeftOut, lines_of(not_shown));
  return not_shown;
}

ViewFacts facts_of(const std::vector<Part>& parts) {
  ViewFacts facts;
  facts.parts = parts.size();
  facts.ranks = parts.front().ranks;
  facts.iterations = Rows(parts).size();
  std::set<std::int64_t> nodes;
  std::set<std::string> files;
  for (const Part& part : parts) {
    files.insert(part.path);
    if (!part.goes_on() && nodes.insert(part.first_rank).second)
      facts.ranks_in_parts += part.node_ranks;
    facts.state += part.name + " " + std::to_string(part.iterations.size()) +
                   (losses_of(part) ? " closed\n" : "\n");
  }
  facts.files = files.size();
  return facts;
}

// `where`: the folder of the parts, as the view names it; `files` gets the names of those that it
// shows. No part is open afterwards: HDF5 opens them by itself to read a view, and cannot when they
// are open with other locks.
ViewFacts write_view(const std::string& path, const std::string& folder, const fs::path& where,
                     Unreadable unreadable, std::vector<std::string>* files) {
  std::vector<std::string> left_out;
  const std::vector<Part> parts =
      open_parts(folder, unreadable == Unreadable::left_out ? &left_out : nullptr);
  for (const Part& part : parts) files->push_back(where / fs::path(part.path).filename());
  const Id file = make_plain(path);
  copy_attributes(parts.front().file, file,
                  {"lost", kFirstRank, kNodeRanks, kStarted, kViewName, kSuccession, kOwnRanks,
                   kSplitBegin, kFinished});
  set_attribute(file, kViewMark, where.string());
  const std::vector<std::string> not_shown = fill(file, parts, *files);
  check(H5Fflush(file, H5F_SCOPE_LOCAL), "cannot write " + path);
  ViewFacts facts = facts_of(parts);
  facts.left_out = std::move(left_out);
  facts.not_shown = not_shown;
  return facts;
}

}  // namespace

ViewFacts make_view(const std::string& folder, const std::string& path, const std::string& maker,
                    Unreadable unreadable) {
  be_quiet();
  H5dont_atexit();
  const fs::path wanted = fs::absolute(path).lexically_normal();
  const fs::path where =
      fs::absolute(folder).lexically_normal().lexically_relative(wanted.parent_path());
  TemporaryFile temporary(wanted.parent_path() / ("." + wanted.filename().string() + "." + maker));
  std::vector<std::string> files;
  ViewFacts facts = write_view(temporary.path(), folder, where, unreadable, &files);
  is_alive();
  facts.not_for_vtk = add_vtkhdf(temporary.path(), files);
  temporary.rename_to(wanted);
  return facts;
}

ViewFacts make_last_view(const std::string& folder, const std::string& path,
                         const std::string& maker, Unreadable unreadable) {
  ViewFacts facts = make_view(folder, path, maker, unreadable);
  std::vector<std::string> left_out;
  const auto state = [&] {
    return facts_of(open_parts(folder, unreadable == Unreadable::left_out ? &left_out : nullptr))
        .state;
  };
  for (int tries = 1; tries < kMostTries && facts.state != state(); ++tries)
    facts = make_view(folder, path, maker, unreadable);
  return facts;
}

std::string parts_of_view(const std::string& path) {
  be_quiet();
  try {
    if (!fs::is_regular_file(path)) return "";
    const Id file = open_plain(path, path);
    const std::string folder = fixed_attribute(file, kViewMark);
    return folder.empty() ? "" : (fs::path(path).parent_path() / folder).string();
  } catch (const std::exception&) {
    innermost_error();
    return "";
  }
}

}  // namespace leat::hdf5
