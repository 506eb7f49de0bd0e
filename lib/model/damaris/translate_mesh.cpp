// SPDX-License-Identifier: Apache-2.0
// <mesh>, where Leat has one of its kind.
#include "lib/model/damaris/parts.hpp"
#include "lib/model/damaris/tree.hpp"

namespace leat::model::damaris {
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

}  // namespace leat::model::damaris
