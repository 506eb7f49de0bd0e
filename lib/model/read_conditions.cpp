// SPDX-License-Identifier: Apache-2.0
// when="max(T) > 1000": what is there of single values. A function over a whole array, which is one with one argument, becomes a variable of
// its own: it is computed once, whoever asks for it.
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/model/read_derived.hpp"
#include "lib/model/read_steps.hpp"
#include "lib/model/words.hpp"

namespace leat::model {
namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Where the quote or the parenthesis at `at` ends; npos where it does not. A comma between arguments is told.
std::size_t end_of(std::string_view text, std::size_t at, bool* has_comma) {
  if (text[at] == '\'') return text.find('\'', at + 1);
  std::size_t depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '\'') {
      at = text.find('\'', at + 1);
      if (at == std::string_view::npos) return at;
    } else if (text[at] == '(') {
      ++depth;
    } else if (text[at] == ')' && --depth == 0) {
      return at;
    } else if (text[at] == ',' && depth == 1) {
      *has_comma = true;
    }
  }
  return std::string_view::npos;
}

class ReductionsInText {
 public:
  ReductionsInText(ReadContext& context, const ToCondition& condition)
      : context_(context), condition_(condition), text_(condition.text.text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\'') {
        bool ignored = false;
        copy_to(end_of(text_, at_, &ignored));
      } else if (is_letter(text_[at_])) {
        take_word();
      } else {
        out_ += text_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  void copy_to(std::size_t last) {
    const std::size_t end = last == std::string_view::npos ? text_.size() : last + 1;
    out_ += text_.substr(at_, end - at_);
    at_ = end;
  }

  void take_word() {
    std::size_t end = at_;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    const std::size_t open = text_.find_first_not_of(' ', end);
    const bool is_call = open != std::string_view::npos && text_[open] == '(';
    bool has_comma = false;
    const std::size_t close = is_call ? end_of(text_, open, &has_comma) : std::string_view::npos;
    if (!is_word<SpaceOperation>(word) || close == std::string_view::npos || has_comma)
      return copy_to(end - 1);
    out_ += "'" +
            variable_for(std::string(word), std::string(text_.substr(open + 1, close - open - 1))) +
            "'";
    at_ = close + 1;
  }

  std::string variable_for(const std::string& operation, const std::string& expression) {
    std::string name = operation + "(" + expression + ")";
    std::erase(name, '\'');
    std::erase(name, ' ');
    if (index_of(context_.model.variables, name) < context_.model.variables.size()) return name;
    const SourceLocation& where = condition_.text.where;
    Variable variable;
    variable.name = name;
    variable.where = where;
    variable.derived.emplace();
    const auto number = static_cast<std::uint32_t>(context_.model.variables.size());
    context_.shapeless.insert(number);
    ToDerive told;
    told.variable = number;
    told.expression = {expression, where};
    told.reduce = {operation, where};
    context_.to_derive.push_back(std::move(told));
    context_.model.variables.push_back(std::move(variable));
    return name;
  }

  ReadContext& context_;
  const ToCondition& condition_;
  const std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

void refuse(ReadContext& context, const ToCondition& told, const std::string& why) {
  context.error(told.text.where, told.who + ": when=\"" + told.text.text + "\": " + why);
}

std::optional<Condition::Input> input_of(const Model& model, const std::string& name) {
  const std::size_t variable = index_of(model.variables, name),
                    parameter = index_of(model.parameters, name),
                    event = index_of(model.events, name);
  if (variable < model.variables.size())
    return Condition::Input{Condition::Kind::variable, static_cast<std::uint32_t>(variable)};
  if (parameter < model.parameters.size() &&
      model.parameters[parameter].kind != ParameterKind::text)
    return Condition::Input{Condition::Kind::parameter, static_cast<std::uint32_t>(parameter)};
  if (event < model.events.size())
    return Condition::Input{Condition::Kind::event, static_cast<std::uint32_t>(event)};
  return std::nullopt;
}

}  // namespace

// Of a condition that several have the first one tells where.
void read_condition(ReadContext& context, const ToCondition& told) {
  Model& model = context.model;
  ParsedArrayExpression parsed = parse_array_expression(ReductionsInText(context, told).run());
  Condition& condition = model.conditions[told.period].emplace();
  if (!parsed.problem.empty()) return refuse(context, told, parsed.problem);
  condition.expression = std::move(parsed.expression);
  for (const std::string& name : condition.expression.names) {
    const std::optional<Condition::Input> input = input_of(model, name);
    if (input) {
      condition.inputs.push_back(*input);
      continue;
    }
    std::vector<std::string> all = names_of(model.variables);
    for (const std::string& each : names_of(model.parameters)) all.push_back(each);
    for (const std::string& each : names_of(model.events)) all.push_back(each);
    return refuse(context, told,
                  "\"" + name + "\" is no variable, no parameter with a number and no event" +
                      did_you_mean(name, all));
  }
}

void read_conditions(ReadContext& context) {
  context.model.conditions.resize(context.model.periods.size());
  for (const ToCondition& each : context.conditions) {
    if (!context.model.conditions[each.period]) read_condition(context, each);
  }
}

void check_conditions(ReadContext& context) {
  for (const ToCondition& told : context.conditions) {
    for (const Condition::Input& each : context.model.conditions[told.period]->inputs) {
      if (each.kind != Condition::Kind::variable || context.shapeless.count(each.number) > 0)
        continue;
      const Variable& variable = context.model.variables[each.number];
      const Layout& layout = context.model.layouts[variable.layout];
      if (variable.derived && is_at_end(context.model.periods[variable.derived->period])) {
        refuse(context, told, why_nothing_of_end(context.model, variable));
        continue;
      }
      if (variable.derived && layout.has_global && layout.dimensions.empty()) continue;
      refuse(context, told,
             "\"" + variable.name + "\" is not one value for all of the run: write max(" +
                 variable.name + "), or min, mean or sum");
    }
  }
}

}  // namespace leat::model
