// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/unlike_parts.hpp"

#include <filesystem>
#include <map>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/stored_tables.hpp"

namespace leat::hdf5 {
namespace {

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

}  // namespace

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

void forget_tables_of_unlike(View& view, const ViewedVariable& variable) {
  for (const std::size_t part : variable.unlike) {
    for (const char* suffix :
         {"_region", "_written", "_count", "_extent", "_stored", "_position", "_global_extent"}) {
      const std::string table = table_of(view.parts[part].file, variable.name, suffix);
      if (!table.empty()) view.done.insert(table);
    }
  }
}

}  // namespace leat::hdf5
