// SPDX-License-Identifier: Apache-2.0
// Meshes, and which variables are their coordinates.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "lib/base/text.hpp"
#include "lib/model/array_expression.hpp"
#include "lib/model/checks.hpp"
#include "lib/model/expression_parser.hpp"
#include "lib/model/mesh_place.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {

// Reads <mesh>: its kind, its coordinates, or origin and spacing, and levels.

namespace {

constexpr std::int32_t kMaxRatio = 64;

bool has_spacing(const Mesh& mesh) {
  return mesh.kind == Mesh::Kind::uniform || mesh.kind == Mesh::Kind::amr;
}

class MeshReader {
 public:
  MeshReader(ReadContext& context, const XmlElement& element)
      : context_(context), attributes_(context, element) {
    attributes_.read_fields(&mesh_);
    mesh_.where = element.where;
  }

  Mesh run() {
    if (!attributes_.given("type")) return std::move(mesh_);
    if (has_spacing(mesh_)) {
      read_numbers();
      if (mesh_.kind == Mesh::Kind::amr) read_levels();
    } else if (attributes_.text("coordinates").empty()) {
      error("coordinates", "a mesh of type \"" + attributes_.text("type") +
                               "\" needs coordinates=\"...\", the variables that hold them");
    }
    refuse_what_does_not_belong();
    return std::move(mesh_);
  }

 private:
  void error(const char* attribute, const std::string& message) {
    context_.error(attributes_.where(attribute), "mesh \"" + mesh_.name + "\": " + message);
  }

  void refuse_what_does_not_belong() {
    for (const char* name : {"origin", "spacing", "unit", "levels", "ratio", "coordinates",
                             "connectivity", "offsets", "types", "cells"}) {
      if (!attributes_.has(name) || belongs(name)) continue;
      error(name, "a mesh of type \"" + attributes_.text("type") + "\" has no " + name);
    }
  }

  bool belongs(const std::string& name) const {
    if (name == "origin" || name == "spacing" || name == "unit") return has_spacing(mesh_);
    if (name == "levels" || name == "ratio") return mesh_.kind == Mesh::Kind::amr;
    if (name == "coordinates") return !has_spacing(mesh_);
    return mesh_.kind == Mesh::Kind::unstructured;
  }

  void read_numbers() {
    mesh_.origin = numbers("origin");
    mesh_.spacing = numbers("spacing");
    const std::size_t axes = std::max(mesh_.origin.size(), mesh_.spacing.size());
    if (axes == 0)
      return error(
          "type", std::string(mesh_.kind == Mesh::Kind::amr ? "an amr" : "a uniform") +
                      " mesh needs origin=\"...\" or spacing=\"...\", with a number for each axis");
    if (mesh_.origin.empty()) mesh_.origin.assign(axes, 0);
    if (mesh_.spacing.empty()) mesh_.spacing.assign(axes, 1);
    if (mesh_.origin.size() != mesh_.spacing.size())
      error("spacing", "origin has " + std::to_string(mesh_.origin.size()) +
                           " numbers and spacing " + std::to_string(mesh_.spacing.size()));
    expect_places();
    mesh_.dims = static_cast<std::uint32_t>(axes);
  }

  void read_levels() {
    mesh_.levels = count("levels", mesh_.levels, 1, kMaxLevels);
    mesh_.ratio = count("ratio", mesh_.ratio, 2, kMaxRatio);
  }

  // `otherwise` when it is not given or bad.
  std::int32_t count(const char* attribute, std::int32_t otherwise, std::int32_t least,
                     std::int32_t most) {
    const XmlAttribute* given = attributes_.given(attribute);
    if (!given) return otherwise;
    const std::string& text = given->value;
    std::int32_t value = 0;
    const std::errc fault = std::from_chars(text.data(), text.data() + text.size(), value).ec;
    if (fault == std::errc{} && value >= least && value <= most) return value;
    error(attribute, std::string(attribute) + " is " + std::to_string(least) + " to " +
                         std::to_string(most) + ", not " + text);
    return otherwise;
  }

  // Where the XML gives values; others are looked at when the simulation has set them.
  void expect_places() {
    if (std::any_of(mesh_.spacing.begin(), mesh_.spacing.end(), [](double d) { return d <= 0; }))
      return error("spacing", "the distance of nodes must be more than 0");
    const auto has_value = [this](const MeshNumber& number) {
      return std::all_of(number.parameters.begin(), number.parameters.end(), [this](auto each) {
        return is_set(context_.model.parameters[each].value);
      });
    };
    for (const MeshNumber& each : mesh_.given) {
      if (!has_value(each)) continue;
      Mesh alone = mesh_;
      alone.given = {each};
      const MeshPlace place = place_of(context_.model, alone, values_of_xml(context_.model));
      if (!place.problem.empty()) {
        error(each.is_spacing ? "spacing" : "origin", place.problem);
        continue;
      }
      std::vector<double>& numbers = each.is_spacing ? mesh_.spacing : mesh_.origin;
      numbers[each.axis] = (each.is_spacing ? place.spacing : place.origin)[each.axis];
    }
  }

  std::vector<double> numbers(const char* attribute) {
    const std::vector<std::string> items = split_list(attributes_.text(attribute));
    std::vector<double> values;
    for (const std::string& item : items)
      values.push_back(number(attribute, item, static_cast<std::uint32_t>(values.size())));
    if (values.size() > kMaxAxes)
      error(attribute, std::string(attribute) + " has " + std::to_string(values.size()) +
                           " numbers; space has at most 3 axes");
    return values;
  }

  // NaN of what parameters give, 1 after an error: then nobody will see the model.
  double number(const char* attribute, const std::string& text, std::uint32_t axis) {
    double value = 1;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = fault == std::errc{} && end == text.data() + text.size();
    if (is_number && std::isfinite(value)) return value;
    const bool is_name =
        index_of(context_.model.parameters, text) < context_.model.parameters.size();
    ParsedArrayExpression parsed = parse_array_expression(is_name ? "'" + text + "'" : text);
    parsed.expression.text = text;
    const std::vector<Along>& along = parsed.expression.along;
    if (std::any_of(along.begin(), along.end(), [](const Along& each) { return each.is_any(); }))
      parsed.problem = "neighbours are of variables";
    if (!parsed.problem.empty()) {
      error(attribute,
            "\"" + text + "\" in " + attribute +
                " is neither a number nor an expression over parameters: " + parsed.problem);
      return 1;
    }
    MeshNumber given{std::move(parsed.expression), {}, std::string(attribute) == "spacing", axis};
    for (const std::string& name : given.expression.names) {
      const std::optional<std::uint32_t> found = parameter(attribute, name);
      if (!found) return 1;
      given.parameters.push_back(*found);
    }
    mesh_.given.push_back(std::move(given));
    return std::numeric_limits<double>::quiet_NaN();
  }

  std::optional<std::uint32_t> parameter(const char* attribute, const std::string& name) {
    const std::vector<Parameter>& parameters = context_.model.parameters;
    const std::size_t index = index_of(parameters, name);
    if (index == parameters.size()) {
      error(attribute, "\"" + name + "\" in " + attribute + " is neither a number nor a parameter" +
                           did_you_mean(name, names_of(parameters)));
      return std::nullopt;
    }
    if (parameters[index].kind != Parameter::Kind::text) return static_cast<std::uint32_t>(index);
    error(attribute, "parameter \"" + name + "\" in " + attribute +
                         " is a string, and must be of type int or double");
    return std::nullopt;
  }

  ReadContext& context_;
  Attributes attributes_;
  Mesh mesh_;
};

}  // namespace

void read_meshes(ReadContext& context, const XmlElement& root) {
  for (const XmlElement* element : all_below(root, "mesh")) {
    add_named(context, &context.model.meshes, "mesh", MeshReader(context, *element).run(),
              Attributes(context, *element));
  }
}

// Ties meshes to the variables that hold their coordinates and cells, and says which do not fit.

namespace {

bool is_integer(ScalarType type) { return type <= ScalarType::uint64; }
bool is_number(ScalarType type) { return type <= ScalarType::float64; }

class MeshLinker {
 public:
  MeshLinker(ReadContext& context, const XmlElement& element, Mesh& mesh)
      : context_(context), attributes_(context, element), mesh_(mesh) {}

  void name_coordinates() {
    for (const std::string& name : names_of_coordinates()) {
      if (const std::optional<std::uint32_t> found = variable("coordinates", name))
        mesh_.coordinates.push_back(*found);
    }
  }

  // After name_coordinates, which has said what is not there.
  void run() {
    good_ = mesh_.coordinates.size() == names_of_coordinates().size();
    for (const std::uint32_t each : mesh_.coordinates) expect_numbers(each);
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
    return model::layout_of(context_.model, context_.model.variables[variable]);
  }

  std::vector<std::string> names_of_coordinates() const {
    return split_list(attributes_.text("coordinates"));
  }

  void expect_numbers(std::uint32_t coordinate) {
    if (context_.shapeless.count(coordinate)) {
      good_ = false;
      return;
    }
    const ScalarType type = layout_of(coordinate).type;
    if (!is_number(type))
      error("coordinates", "coordinates are numbers, and \"" +
                               context_.model.variables[coordinate].name + "\" is of type " +
                               scalar_name(type));
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

// Without those that are declared twice, which was said.
template <class Visit>
void each_mesh(ReadContext& context, const XmlElement& root, const Visit& visit) {
  for (const XmlElement* element : all_below(root, "mesh")) {
    const std::size_t index =
        index_of(context.model.meshes, Attributes(context, *element).text("name"));
    if (index == context.model.meshes.size()) continue;
    Mesh& mesh = context.model.meshes[index];
    if (mesh.where.line == element->where.line && mesh.where.file == element->where.file &&
        mesh.where.column == element->where.column)
      visit(*element, &mesh);
  }
}

}  // namespace

void name_coordinates(ReadContext& context, const XmlElement& root) {
  if (context.model.layouts.empty()) return;  // as of link_meshes
  each_mesh(context, root, [&](const XmlElement& element, Mesh* mesh) {
    MeshLinker(context, element, *mesh).name_coordinates();
  });
}

void link_meshes(ReadContext& context, const XmlElement& root) {
  if (context.model.layouts.empty()) return;  // then no variable has a shape, which was said
  each_mesh(context, root, [&](const XmlElement& element, Mesh* mesh) {
    MeshLinker(context, element, *mesh).run();
  });
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
