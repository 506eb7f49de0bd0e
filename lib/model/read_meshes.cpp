// SPDX-License-Identifier: Apache-2.0
// Reads <mesh>: its kind, its coordinates, or origin and spacing, and levels.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "lib/base/suggest.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/words.hpp"

namespace leat::model {
namespace {

constexpr std::int32_t kMaxRatio = 64;

bool has_spacing(const Mesh& mesh) {
  return mesh.kind == Mesh::Kind::uniform || mesh.kind == Mesh::Kind::amr;
}

class MeshReader {
 public:
  MeshReader(ReadContext& context, const XmlElement& element)
      : context_(context), attributes_(context, element) {
    mesh_.name = attributes_.text("name");
    mesh_.kind = number_of(kMeshKinds, attributes_.text("type"));
    mesh_.unit = attributes_.text("unit");
    mesh_.description = attributes_.text("description");
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
    if (std::any_of(mesh_.spacing.begin(), mesh_.spacing.end(), [](double d) { return d <= 0; }))
      error("spacing", "the distance of nodes must be more than 0");
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

  std::vector<double> numbers(const char* attribute) {
    const std::vector<std::string> items = split_list(attributes_.text(attribute));
    std::vector<double> values;
    for (const std::string& item : items) values.push_back(number(attribute, item));
    if (values.size() > kMaxAxes)
      error(attribute, std::string(attribute) + " has " + std::to_string(values.size()) +
                           " numbers; space has at most 3 axes");
    return values;
  }

  // 1 after an error: then nobody will see the model.
  double number(const char* attribute, const std::string& text) {
    double value = 1;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = fault == std::errc{} && end == text.data() + text.size();
    if (is_number && std::isfinite(value)) return value;
    const std::vector<Parameter>& parameters = context_.model.parameters;
    const std::size_t index = index_of(parameters, text);
    if (index < parameters.size()) return value_of(attribute, parameters[index]);
    error(attribute, "\"" + text + "\" in " + attribute + " is neither a number nor a parameter" +
                         did_you_mean(text, names_of(parameters)));
    return 1;
  }

  double value_of(const char* attribute, const Parameter& parameter) {
    const bool text = parameter.kind == Parameter::Kind::text;
    if (is_set(parameter.value) && !text) return as_real(parameter.value);
    error(attribute, "parameter \"" + parameter.name + "\" in " + attribute +
                         (text ? " is a string" : " has no value in the XML, and must have one"));
    return 1;
  }

  ReadContext& context_;
  Attributes attributes_;
  Mesh mesh_;
};

}  // namespace

void read_meshes(ReadContext& context, const XmlElement& root) {
  for (const XmlElement* element : all_below(root, "mesh")) {
    Mesh mesh = MeshReader(context, *element).run();
    const Attributes attributes(context, *element);
    if (!attributes.given("name")) continue;
    if (refuse_duplicate(context, context.model.meshes, "mesh", mesh.name,
                         attributes.where("name"))) {
      continue;
    }
    context.model.meshes.push_back(std::move(mesh));
  }
}

}  // namespace leat::model
