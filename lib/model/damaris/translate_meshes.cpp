// SPDX-License-Identifier: Apache-2.0
// Meshes of Damaris.

#include <algorithm>
#include <map>
#include <set>

#include "lib/model/checks.hpp"
#include "lib/model/damaris/parts.hpp"
#include "lib/model/damaris/translate.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/xml/schema.hpp"

namespace leat::model::damaris {

// <mesh>, where Leat has one of its kind.

namespace {

std::string named(const XmlElement& mesh, const char* part) {
  const XmlElement* child = child_of(mesh, part);
  return child ? value_of(*child, "name") : "";
}

void put_named(XmlElement& to, const char* attribute, const XmlElement& mesh, const char* part) {
  const XmlElement* child = child_of(mesh, part);
  if (const XmlAttribute* name = child ? given(*child, "name") : nullptr)
    put(to, attribute, name->value, name->where);
}

// Why the cells of an unstructured mesh cannot be said, or "".
std::string why_no_cells(const XmlElement& mesh) {
  if (!named(mesh, "section_sizes").empty())
    return "its cells are in sections (section_sizes), and Leat needs the type and the offset of "
           "each cell";
  if (!named(mesh, "vertex_global_id").empty())
    return "its cells name points by global numbers (vertex_global_id), and Leat by those of the "
           "block";
  for (const char* part : {"polyhedral_cell_faces_connectivity", "polyhedral_cell_faces_offsets",
                           "polyhedral_n_faces_per_cell"}) {
    if (!named(mesh, part).empty())
      return "there are no polyhedra in Leat (" + std::string(part) + ")";
  }
  for (const char* part : {"section_connectivity", "element_offsets", "section_types"}) {
    if (named(mesh, part).empty()) return "it has no <" + std::string(part) + ">";
  }
  return "";
}

std::string why_not(const XmlElement& mesh) {
  const std::string type = value_of(mesh, "type");
  if (type == "csg" || type == "amr" || type == "unknown")
    return "neither Damaris nor Leat makes anything of its type, \"" + type + "\"";
  if (!child_of(mesh, "coord")) return "it has no <coord>";
  return type == "unstructured" ? why_no_cells(mesh) : "";
}

void put_coordinates(XmlElement& to, const XmlElement& mesh) {
  std::string list;
  const SourceLocation* where = nullptr;
  for (const XmlElement& child : mesh.children) {
    const XmlAttribute* name = child.name == "coord" ? given(child, "name") : nullptr;
    if (!name) continue;
    if (!where) where = &name->where;
    list += (list.empty() ? "" : ",") + name->value;
  }
  if (where) put(to, "coordinates", list, *where);
}

}  // namespace

std::optional<XmlElement> translate_mesh(Work& work, const XmlElement& from,
                                         const std::string& name) {
  if (const std::string why = why_not(from); !why.empty()) {
    work.remarks.say(Severity::warning, from, from.where,
                     "mesh \"" + value_of(from, "name") + "\" is left out: " + why +
                         "; its variables are stored without it");
    return std::nullopt;
  }
  XmlElement to = element_at(from, "mesh");
  take(to, "name", from, "name");
  for (XmlAttribute& each : to.attributes) each.value = name;
  take(to, "type", from, "type");
  if (to.attributes.back().value == "point") to.attributes.back().value = "points";
  put_coordinates(to, from);
  if (value_of(from, "type") == "unstructured") {
    put_named(to, "connectivity", from, "section_connectivity");
    put_named(to, "offsets", from, "element_offsets");
    put_named(to, "types", from, "section_types");
  }
  take_description(to, from);
  return to;
}

// Reads the translated tree on trial: public files for Damaris name meshes that their variables do
// not fit on, which Damaris sees only when something draws them.

namespace {

class MeshFitting {
 public:
  MeshFitting(Work& work, XmlElement& root) : work_(work), root_(root) {}

  void run() {
    while (!read()) {
      if (!drop_broken()) return;  // the reader says what is wrong
    }
    for (const Variable& each : model_.variables)
      variables_[{each.where.line, each.where.column}] = &each;
    for (std::size_t i = 0; i < model_.meshes.size(); ++i) {
      if (model_.meshes[i].kind == Mesh::Kind::rectilinear && !all_fit(i)) turn(i);
    }
    drop_misfits(root_);
  }

 private:
  // False when something is wrong; wrong_ is then what is wrong with meshes themselves.
  bool read() {
    DiagnosticList unheard;
    XmlElement copy = root_;
    model_ = Model();
    wrong_.clear();
    check_against_schema(work_.schema, copy, unheard);
    ReadContext context{work_.schema, unheard, model_};
    read_simulation(context, copy);
    read_parameters(context, copy);
    read_layouts(context, copy);
    read_stores(context, copy);
    read_meshes(context, copy);
    read_variables(context, copy);
    return !unheard.has_errors() && link(copy, context);
  }

  // Links the meshes without a check of the variables on them.
  bool link(const XmlElement& copy, ReadContext& context) {
    std::vector<std::optional<std::uint32_t>> meshes;
    for (Variable& each : model_.variables) meshes.push_back(std::exchange(each.mesh, {}));
    name_coordinates(context, copy);
    link_meshes(context, copy);
    for (std::size_t i = 0; i < meshes.size(); ++i) model_.variables[i].mesh = meshes[i];
    wrong_ = context.out.sorted();
    std::erase_if(wrong_, [](const Diagnostic& d) { return d.severity != Severity::error; });
    return wrong_.empty();
  }

  // Why a mesh cannot be as the file has it, or "". That a variable is unknown is an error.
  std::string why_broken(const XmlElement& mesh) const {
    for (const XmlAttribute& attribute : mesh.attributes) {
      for (const Diagnostic& each : wrong_) {
        const bool here =
            each.where.line == attribute.where.line && each.where.column == attribute.where.column;
        if (here && each.message.find("unknown variable") == std::string::npos) return each.message;
      }
    }
    return "";
  }

  // Takes the broken meshes out of the file; false when there is none.
  bool drop_broken() {
    std::set<std::string> broken;
    erase_broken(root_, broken);
    take_off(root_, broken);
    return !broken.empty();
  }

  void erase_broken(XmlElement& element, std::set<std::string>& broken) {
    for (XmlElement& child : element.children) erase_broken(child, broken);
    std::erase_if(element.children, [&](const XmlElement& child) {
      const std::string why = child.name == "mesh" ? why_broken(child) : "";
      if (why.empty()) return false;
      work_.remarks.say(Severity::warning, child, child.where,
                        why + "; the mesh is left out, and its variables are stored without it");
      broken.insert(value_of(child, "name"));
      return true;
    });
  }

  static void take_off(XmlElement& element, const std::set<std::string>& meshes) {
    for (XmlElement& child : element.children) take_off(child, meshes);
    if (element.name == "variable" && meshes.contains(value_of(element, "mesh")))
      without_mesh(element);
  }

  static void without_mesh(XmlElement& variable) {
    std::erase_if(variable.attributes, [](const XmlAttribute& each) {
      return each.name == "mesh" || each.name == "centering";
    });
  }

  // Why a variable cannot lie on its mesh, or "".
  std::string why_not(const Variable& variable) {
    DiagnosticList said;
    ReadContext context{work_.schema, said, model_};
    check_on_mesh(context, variable);
    return said.has_errors() ? said.sorted().front().message : "";
  }

  bool all_fit(std::size_t mesh) {
    return std::none_of(model_.variables.begin(), model_.variables.end(),
                        [&](const Variable& v) { return v.mesh == mesh && !why_not(v).empty(); });
  }

  // Damaris' readers let the first coordinate run along whichever dimension the code has.
  void turn(std::size_t index) {
    Mesh& mesh = model_.meshes[index];
    std::reverse(mesh.coordinates.begin(), mesh.coordinates.end());
    if (!all_fit(index)) return std::reverse(mesh.coordinates.begin(), mesh.coordinates.end());
    std::string list;
    for (const std::uint32_t each : mesh.coordinates)
      list += (list.empty() ? "" : ",") + model_.variables[each].name;
    rename_coordinates(root_, mesh, list);
  }

  void rename_coordinates(XmlElement& element, const Mesh& mesh, const std::string& list) {
    for (XmlElement& child : element.children) {
      if (child.name != "mesh" || value_of(child, "name") != mesh.name) {
        rename_coordinates(child, mesh, list);
        continue;
      }
      for (XmlAttribute& each : child.attributes) {
        if (each.name != "coordinates") continue;
        work_.remarks.say(Severity::warning, child, each.where,
                          "mesh \"" + mesh.name + "\": coordinates=\"" + each.value +
                              "\" fit its variables in the order \"" + list +
                              "\" only: in Leat the first runs along the dimension that varies "
                              "fastest, and pictures have it as x");
        each.value = list;
      }
    }
  }

  void drop_misfits(XmlElement& element) {
    for (XmlElement& child : element.children) drop_misfits(child);
    if (element.name != "variable") return;
    const auto found = variables_.find({element.where.line, element.where.column});
    if (found == variables_.end() || !found->second->mesh) return;
    const std::string why = why_not(*found->second);
    if (why.empty()) return;
    work_.remarks.say(Severity::warning, element, element.where,
                      why + "; it is stored without the mesh");
    without_mesh(element);
  }

  Work& work_;
  XmlElement& root_;
  Model model_;
  std::vector<Diagnostic> wrong_;
  std::map<std::pair<int, int>, const Variable*> variables_;  ///< by line and column
};

}  // namespace

void fit_meshes(Work& work, XmlElement& root) { MeshFitting(work, root).run(); }

}  // namespace leat::model::damaris
