// SPDX-License-Identifier: Apache-2.0
// Ties meshes to the variables that hold their coordinates and cells, and says which do not fit.
#include <algorithm>

#include "lib/base/suggest.hpp"
#include "lib/model/centering.hpp"
#include "lib/model/integer_values.hpp"
#include "lib/model/mesh_check.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/words.hpp"

namespace leat::model {
namespace {

bool is_integer(ScalarType type) { return type <= ScalarType::uint64; }
bool is_number(ScalarType type) { return type <= ScalarType::float64; }

class MeshLinker {
 public:
  MeshLinker(ReadContext& context, const XmlElement& element, Mesh& mesh)
      : context_(context), attributes_(context, element), mesh_(mesh) {}

  void run() {
    for (const std::string& name : split_list(attributes_.text("coordinates"))) coordinate(name);
    if (!mesh_.coordinates.empty() && good_) count_axes();
    if (mesh_.kind == Mesh::Kind::unstructured) cells();
  }

 private:
  void error(const char* attribute, const std::string& message) {
    good_ = false;
    context_.error(attributes_.where(attribute), "mesh \"" + mesh_.name + "\": " + message);
  }

  std::optional<std::uint32_t> variable(const char* attribute, const std::string& name) {
    const std::vector<Variable>& variables = context_.model.variables;
    const std::size_t index = index_of(variables, name);
    if (index < variables.size()) return static_cast<std::uint32_t>(index);
    error(attribute, "unknown variable \"" + name + "\" in " + attribute +
                         did_you_mean(name, names_of(variables)));
    return std::nullopt;
  }

  const Layout& layout_of(std::uint32_t variable) const {
    return context_.model.layouts[context_.model.variables[variable].layout];
  }

  void coordinate(const std::string& name) {
    const std::optional<std::uint32_t> found = variable("coordinates", name);
    if (!found) return;
    if (context_.shapeless.count(*found)) {
      good_ = false;
      return mesh_.coordinates.push_back(*found);
    }
    if (!is_number(layout_of(*found).type))
      error("coordinates", "coordinates are numbers, and \"" + name + "\" is of type " +
                               scalar_name(layout_of(*found).type));
    mesh_.coordinates.push_back(*found);
  }

  void count_axes() {
    const std::size_t count = mesh_.coordinates.size();
    mesh_.dims = static_cast<std::uint32_t>(count);
    if (count > kMaxAxes)
      return error("coordinates", "coordinates has " + std::to_string(count) +
                                      " variables; space has at most 3 axes");
    const bool scattered =
        mesh_.kind == Mesh::Kind::points || mesh_.kind == Mesh::Kind::unstructured;
    const std::size_t wanted = mesh_.kind == Mesh::Kind::curvilinear ? count : 1;
    for (const std::uint32_t each : mesh_.coordinates) {
      const std::size_t dims = layout_of(each).dimensions.size();
      if (scattered && count == 1 && dims == 2) return count_components(each);
      if (dims != wanted) wrong_dimensions(each, dims, wanted);
    }
  }

  void wrong_dimensions(std::uint32_t variable, std::size_t dims, std::size_t wanted) {
    error("coordinates",
          "\"" + context_.model.variables[variable].name + "\" has " + std::to_string(dims) +
              (dims == 1 ? " dimension" : " dimensions") + " and must have " +
              std::to_string(wanted) +
              (mesh_.kind == Mesh::Kind::curvilinear ? ", one for each of the coordinates"
                                                     : ": the values along one axis"));
  }

  // Of one variable (points, axes).
  void count_components(std::uint32_t variable) {
    const Dimension& last = layout_of(variable).dimensions.back();
    const ExpressionValue extent = IntegerValues(context_.model.parameters).evaluate(last.extent);
    const bool known = !last.varying && extent.fault == ExpressionFault::none;
    if (known && extent.value >= 1 && extent.value <= static_cast<std::int64_t>(kMaxAxes)) {
      mesh_.dims = static_cast<std::uint32_t>(extent.value);
      return;
    }
    error("coordinates", "the last dimension of \"" + context_.model.variables[variable].name +
                             "\" must be the number of axes, 1 to 3, and known before the run");
  }

  void cells() {
    mesh_.cell_type = number_of(kCellShapes, attributes_.text("cells"));
    mesh_.connectivity = list_of_integers("connectivity");
    mesh_.offsets = list_of_integers("offsets");
    mesh_.types = list_of_integers("types");
    if (!attributes_.has("connectivity"))
      error("type",
            "an unstructured mesh needs connectivity=\"...\", the variable with the point "
            "numbers of its cells");
    const bool mixed = attributes_.has("offsets") && attributes_.has("types");
    const bool any_of_mixed = attributes_.has("offsets") || attributes_.has("types");
    if (attributes_.has("cells") ? any_of_mixed : !mixed)
      error("type",
            "an unstructured mesh needs either cells=\"...\" when all cells have one shape, "
            "or offsets=\"...\" and types=\"...\" when they are mixed");
  }

  std::optional<std::uint32_t> list_of_integers(const char* attribute) {
    const std::string name = attributes_.text(attribute);
    if (name.empty()) return std::nullopt;
    const std::optional<std::uint32_t> found = variable(attribute, name);
    if (found && !context_.shapeless.count(*found) && !is_integer(layout_of(*found).type))
      error(attribute, std::string(attribute) + " holds whole numbers, and \"" + name +
                           "\" is of type " + scalar_name(layout_of(*found).type));
    return found;
  }

  ReadContext& context_;
  Attributes attributes_;
  Mesh& mesh_;
  bool good_ = true;
};

}  // namespace

void link_meshes(ReadContext& context, const XmlElement& root) {
  if (context.model.layouts.empty()) return;  // then no variable has a shape, which was said
  for (const XmlElement* element : all_below(root, "mesh")) {
    const std::size_t index =
        index_of(context.model.meshes, Attributes(context, *element).text("name"));
    if (index == context.model.meshes.size()) continue;
    Mesh& mesh = context.model.meshes[index];
    if (mesh.where.line == element->where.line && mesh.where.file == element->where.file &&
        mesh.where.column == element->where.column)
      MeshLinker(context, *element, mesh).run();
  }
  const auto is_shapeless = [&](std::uint32_t each) { return context.shapeless.count(each) > 0; };
  for (std::uint32_t i = 0; i < context.model.variables.size(); ++i) {
    const Variable& variable = context.model.variables[i];
    if (!variable.mesh || is_shapeless(i)) continue;
    const std::vector<std::uint32_t>& axes = context.model.meshes[*variable.mesh].coordinates;
    if (std::none_of(axes.begin(), axes.end(), is_shapeless)) check_on_mesh(context, variable);
  }
  place_on_uniform_meshes(context);
}

}  // namespace leat::model
