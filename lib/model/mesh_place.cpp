// SPDX-License-Identifier: Apache-2.0
#include "lib/model/mesh_place.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "lib/base/text.hpp"

namespace leat::model {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// One node of an expression, of numbers instead of arrays.
double computed(const ArrayNode& node, double x, double y, double z) {
  switch (node.op) {
    case ArrayOp::input:
      return kUnknown;  // the caller has it
    case ArrayOp::number:
      return node.number;
    case ArrayOp::negative:
      return -x;
    case ArrayOp::choice:
      return x != 0 ? y : z;
#define LEAT_ARRAY_UNARY(id, name, result) \
  case ArrayOp::id:                        \
    return result;
#define LEAT_ARRAY_BINARY(id, name, result) LEAT_ARRAY_UNARY(id, name, result)
#define LEAT_ARRAY_OPERATOR(id, sign, level, from, result) LEAT_ARRAY_UNARY(id, name, result)
#include "lib/model/array_ops.def"
  }
  return kUnknown;
}

double scalar_value(const ArrayExpression& expression, const std::vector<double>& inputs) {
  std::vector<double> values;
  for (const ArrayNode& node : expression.nodes)
    values.push_back(node.op == ArrayOp::input
                         ? inputs[node.a]
                         : computed(node, node.a < values.size() ? values[node.a] : 0,
                                    node.b < values.size() ? values[node.b] : 0,
                                    node.c < values.size() ? values[node.c] : 0));
  return values[expression.result];
}

std::string decimal_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", number);
  return text;
}

// "spacing along y ("ly/ny")"
std::string title_of(const MeshNumber& number) {
  return std::string(number.is_spacing ? "spacing" : "origin") + " along " +
         std::string(1, "xyz"[number.axis]) + " (\"" + number.expression.text + "\")";
}

// Sets it, or says why it has no value.
std::string set_number(const Model& model, const MeshNumber& number,
                       const std::vector<ParameterValue>& values, MeshPlace* to) {
  std::vector<double> inputs;
  for (const std::uint32_t each : number.parameters) {
    const bool is_there = each < values.size() && is_set(values[each]);
    if (!is_there)
      return title_of(number) + " needs " + model.parameters[each].name + ", which has no value";
    inputs.push_back(as_real(values[each]));
  }
  const double value = scalar_value(number.expression, inputs);
  if (!std::isfinite(value))
    return title_of(number) + " is " + decimal_text(value) + ", which is no place";
  if (number.is_spacing && value <= 0)
    return title_of(number) + " is " + decimal_text(value) +
           ": the distance of nodes must be more than 0";
  (number.is_spacing ? to->spacing : to->origin)[number.axis] = value;
  return "";
}

}  // namespace

bool any_is_placed_by_parameters(const Model& model) {
  return std::any_of(model.meshes.begin(), model.meshes.end(), is_placed_by_parameters);
}

MeshPlace place_of(const Model& model, const Mesh& mesh,
                   const std::vector<ParameterValue>& values) {
  MeshPlace place{mesh.origin, mesh.spacing, ""};
  std::vector<std::string> problems;
  for (const MeshNumber& each : mesh.given) {
    std::string problem = set_number(model, each, values, &place);
    if (!problem.empty()) problems.push_back(std::move(problem));
  }
  if (problems.empty()) return place;
  place.problem = joined(problems, "; ");
  std::fill(place.origin.begin(), place.origin.end(), kUnknown);
  std::fill(place.spacing.begin(), place.spacing.end(), kUnknown);
  return place;
}

std::vector<ParameterValue> values_of_xml(const Model& model) {
  std::vector<ParameterValue> values;
  for (const Parameter& each : model.parameters) values.push_back(each.value);
  return values;
}

const Mesh* mesh_that_uses(const Model& model, std::uint32_t parameter) {
  for (const Mesh& mesh : model.meshes)
    for (const MeshNumber& each : mesh.given)
      if (std::count(each.parameters.begin(), each.parameters.end(), parameter) > 0) return &mesh;
  return nullptr;
}

}  // namespace leat::model
