// SPDX-License-Identifier: Apache-2.0
// Reads <parameter>: its type, and its value if it has one; and <time>, which is one of them.

#include <charconv>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/units.hpp"

namespace leat::model {

namespace {

template <class Number>
bool read_number(const std::string& text, ParameterValue& value) {
  Number number{};
  const char* begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-');
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(begin, end, number);
  value = number;
  return fault == std::errc{} && stop == end;
}

// False when the text is no value of the parameter's kind.
bool take_value(Parameter& parameter, const std::string& text) {
  switch (parameter.kind) {
    case Parameter::Kind::integer:
      return read_number<std::int64_t>(text, parameter.value);
    case Parameter::Kind::real:
      return read_number<double>(text, parameter.value);
    case Parameter::Kind::text:
      parameter.value = text;
      return true;
  }
  return false;
}

std::string expected(Parameter::Kind kind) {
  return kind == Parameter::Kind::integer
             ? "an int is a whole number of 64 bits, like 64; expressions are for layouts"
             : "a double is a number like 0.5 or 1e-3";
}

// One name, or several that are alike in all else.
void read_parameters_of(ReadContext& context, const XmlElement& element) {
  const Attributes attributes(context, element);
  Parameter parameter;
  attributes.read_fields(&parameter);
  parameter.where = element.where;
  const XmlAttribute* value = attributes.given("value");
  if (value && attributes.given("type") && !take_value(parameter, value->value)) {
    context.error(value->where, "parameter \"" + parameter.name + "\": \"" + value->value +
                                    "\" is no " + attributes.text("type") + ": " +
                                    expected(parameter.kind));
  }
  for (const std::string& name : split_list(parameter.name)) {
    Parameter one = parameter;
    one.name = name;
    add_named(context, &context.model.parameters, "parameter", std::move(one), attributes);
  }
}

std::vector<std::string> names_of_reals(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& each : parameters) {
    if (each.kind == Parameter::Kind::real) names.push_back(each.name);
  }
  return names;
}

Parameter time_of_run(const std::string& name, const XmlElement& element) {
  Parameter time;
  time.name = name;
  time.kind = Parameter::Kind::real;
  time.where = element.where;
  return time;
}

void read_time(ReadContext& context, const XmlElement& root) {
  const XmlElement element = only(context, root, "time");
  const Attributes attributes(context, element);
  const XmlAttribute* name = attributes.given("parameter");
  if (!name) return;
  std::vector<Parameter>& parameters = context.model.parameters;
  const std::size_t index = index_of(parameters, name->value);
  const bool is_declared_here =
      index == parameters.size() && nearest_name(name->value, names_of_reals(parameters)).empty();
  if (is_declared_here) parameters.push_back(time_of_run(name->value, element));
  if (index == parameters.size() || parameters[index].kind != Parameter::Kind::real) {
    context.error(name->where, "the time is no parameter of type double: \"" + name->value + "\"" +
                                   did_you_mean(name->value, names_of_reals(parameters)));
    return;
  }
  TimeAxis& time = context.model.time.emplace();
  attributes.read_fields(&time);
  time.parameter = static_cast<std::uint32_t>(index);
  if (const std::string why = why_no_date(time.unit, time.calendar); !why.empty())
    context.error(attributes.where("unit"), "the unit of the time, \"" + time.unit + "\": " + why);
}

}  // namespace

void read_parameters(ReadContext& context, const XmlElement& root) {
  for (const XmlElement* each : all_below(root, "parameter")) read_parameters_of(context, *each);
  read_time(context, root);
}

}  // namespace leat::model
