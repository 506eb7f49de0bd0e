// SPDX-License-Identifier: Apache-2.0
#include "server/cli/set_values.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/mesh_place.hpp"

namespace leat::cli {
namespace {

using Overrides = model::IntegerValues::Overrides;
using Kind = model::ParameterKind;

Error wrong_words(std::string message) { return Error{Status::ERROR_ARGUMENT, std::move(message)}; }

template <class Number>
std::optional<Number> parsed_number(const std::string& text) {
  Number number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Of the type that the XML declares.
Result<ParameterValue> value_in(const std::string& text, const model::Parameter& parameter,
                                const std::string& said) {
  switch (parameter.kind) {
    case Kind::integer:
      if (const std::optional<std::int64_t> number = parsed_number<std::int64_t>(text))
        return ParameterValue(*number);
      return wrong_words("--set " + said + ": expected name=value with a whole number, like " +
                         parameter.name + "=256");
    case Kind::real:
      if (const std::optional<double> number = parsed_number<double>(text))
        return ParameterValue(*number);
      return wrong_words("--set " + said + ": expected name=value with a number, like " +
                         parameter.name + "=0.25");
    case Kind::text:
      return ParameterValue(text);
  }
  return ParameterValue();
}

// "a=1,b=2,3" is a=1 and b=2,3: a comma stands between two where a name and "=" come behind it.
std::vector<std::string> settings_in(const std::vector<std::string>& all) {
  std::vector<std::string> settings;
  for (const std::string& each : all) {
    std::size_t begin = 0;
    for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
      end = each.find(',', begin);
      const std::string piece = each.substr(begin, end - begin);
      if (begin == 0 || piece.find('=') != std::string::npos)
        settings.push_back(piece);
      else
        settings.back() += "," + piece;
      if (end == std::string::npos) break;
    }
  }
  return settings;
}

Result<void> set_one(const std::string& said, model::Model& model, Overrides& all) {
  const std::size_t equals = said.find('=');
  if (equals == std::string::npos)
    return wrong_words("--set " + said + ": expected name=value, like nx=256");
  const std::string name = said.substr(0, equals);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    model::Parameter& parameter = model.parameters[i];
    names.push_back(parameter.name);
    if (parameter.name != name) continue;
    const Result<ParameterValue> value = value_in(said.substr(equals + 1), parameter, said);
    if (!value) return value.error();
    parameter.value = *value;
    all[i] = parameter.kind == Kind::integer ? as_integer(*value) : 0;
    return {};
  }
  return wrong_words("--set " + said + ": there is no parameter \"" + name + "\"" +
                     did_you_mean(name, names));
}

}  // namespace

Result<model::IntegerValues::Overrides> set_values(const std::vector<std::string>& said,
                                                   model::Model& model) {
  Overrides all(model.parameters.size());
  for (const std::string& each : settings_in(said)) {
    if (const Result<void> done = set_one(each, model, all); !done) return done.error();
  }
  return all;
}

namespace {

// Of meshes that parameters place: where all of these have a value.
void judge_meshes(const model::Model& model, std::vector<model::Diagnostic>* to) {
  const auto has_value = [&](std::uint32_t each) { return is_set(model.parameters[each].value); };
  for (const model::Mesh& mesh : model.meshes) {
    const bool is_known =
        std::all_of(mesh.given.begin(), mesh.given.end(), [&](const model::MeshNumber& number) {
          return std::all_of(number.parameters.begin(), number.parameters.end(), has_value);
        });
    if (!is_known) continue;
    const model::MeshPlace place = model::place_of(model, mesh, model::values_of_xml(model));
    if (!place.problem.empty())
      to->push_back(
          {model::Severity::error, mesh.where, "mesh \"" + mesh.name + "\": " + place.problem});
  }
}

// What is wrong with the place of a block along a dimension, "" where nothing is, or it is not known.
std::string why_outside(const model::Dimension& along, const model::IntegerValues& known) {
  if (along.varying || along.position.program.empty() || along.global.program.empty()) return "";
  const ExpressionValue extent = known.evaluate(along.extent), whole = known.evaluate(along.global),
                        begin = known.evaluate(along.position);
  for (const ExpressionValue& each : {extent, whole, begin})
    if (each.fault != ExpressionFault::none) return "";
  const std::int64_t own = extent.value - along.ghost_low - along.ghost_high;
  if (begin.value >= 0 && own <= whole.value && begin.value <= whole.value - own) return "";
  return "along \"" + along.name + "\" a block of " + std::to_string(own) + " begins at " +
         std::to_string(begin.value) + ", and the whole has " + std::to_string(whole.value);
}

// Positions that --set or the XML give.
void judge_positions(const model::Model& model, const model::IntegerValues& known,
                     std::vector<model::Diagnostic>* to) {
  for (const model::Layout& layout : model.layouts) {
    for (const model::Dimension& along : layout.dimensions) {
      const std::string why = why_outside(along, known);
      if (!why.empty())
        to->push_back(
            {model::Severity::error, layout.where, "layout \"" + layout.name + "\": " + why});
    }
  }
}

}  // namespace

void judge_placing(const model::Model& model, const model::IntegerValues& known,
                   std::vector<model::Diagnostic>* to) {
  judge_meshes(model, to);
  judge_positions(model, known, to);
}

}  // namespace leat::cli
