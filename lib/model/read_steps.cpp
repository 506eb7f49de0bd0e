// SPDX-License-Identifier: Apache-2.0
#include "lib/model/read_steps.hpp"

#include <algorithm>

#include "lib/model/checks.hpp"
#include "lib/model/marks.hpp"
#include "lib/model/units.hpp"

namespace leat::model {

const XmlAttribute* Attributes::given(std::string_view name) const {
  const XmlAttribute* attribute = element_.find(name);
  return attribute && !attribute->refused ? attribute : nullptr;
}

std::string Attributes::text(std::string_view name) const {
  if (const XmlAttribute* attribute = given(name)) return attribute->value;
  const AttributeRule* rule = rule_ ? rule_->find(name) : nullptr;
  return rule ? rule->default_value : "";
}

const SourceLocation& Attributes::where(std::string_view name) const {
  const XmlAttribute* attribute = element_.find(name);
  return attribute ? attribute->where : element_.where;
}

void Attributes::read(const char* name, std::vector<std::string>* words) const {
  *words = words_of(text(name));
}

void Attributes::read(const char* name, std::int64_t* count) const {
  *count = std::strtoll(text(name).c_str(), nullptr, 10);
}

void Attributes::read(const char* name, std::uint64_t* bytes) const {
  const std::optional<std::uint64_t> size = parse_size(text(name));
  if (!size) context_.error(where(name), "the size \"" + text(name) + "\" is beyond 64 bits");
  *bytes = size.value_or(0);
}

void Attributes::read(const char* name, double* seconds) const {
  *seconds = parse_duration(text(name)).value_or(1);
}

void Attributes::read(const char* name, ScalarType* to) const {
  *to = scalar_from_name(text(name)).value_or(ScalarType::float64);
}

Schedule chosen_schedule(ReadContext& context, const SourceLocation& where, Schedule said,
                         std::initializer_list<Schedule> able) {
  const Schedule schedule = chosen(context, where, "LEAT_RUNS", said);
  return std::find(able.begin(), able.end(), schedule) != able.end() ? schedule : said;
}

std::uint32_t number_of_period(Model* model, const Every& every) {
  std::vector<Every>& all = model->periods;
  const auto found = std::find(all.begin(), all.end(), every);
  const auto number = static_cast<std::uint32_t>(found - all.begin());
  if (found == all.end()) all.push_back(every);
  return number;
}

std::optional<std::uint32_t> period_of(ReadContext& context, const std::string& who,
                                       const Said& said, const Said& when, bool may_end) {
  const auto refuse = [&](const std::string& why) -> std::optional<std::uint32_t> {
    context.error(said.where, who + ": every=\"" + said.text + "\": " + why);
    return std::nullopt;
  };
  Result<Every> every = parse_every(said.text.empty() ? "1" : said.text);
  if (!every) return refuse(every.error().message);
  if (is_at_end(*every) && !may_end)
    return refuse(
        "which iteration is the last is known when the run is over, so the server keeps it in a "
        "variable of its own: write <variable name=\"...\" expr=\"...\" every=\"" +
        to_text(*every) + "\"/>");
  const std::optional<TimeAxis>& time = context.model.time;
  if (every->clock == Every::Clock::simulation) {
    if (!time)
      return refuse(
          "the simulation says no time: write <time parameter=\"...\"/> into <data>, or give a "
          "number of iterations");
    const std::string why = why_no_marks(*every, Calendar(time->unit, time->calendar));
    if (!why.empty()) return refuse(why);
  }
  every->condition = when.text;
  const std::uint32_t number = number_of_period(&context.model, *every);
  if (!when.text.empty()) context.conditions.push_back({number, when, who});
  return number;
}

std::vector<const XmlElement*> all_below(const XmlElement& parent, std::string_view name) {
  std::vector<const XmlElement*> found;
  for (const XmlElement& child : parent.children) {
    if (child.name == name) found.push_back(&child);
    const std::vector<const XmlElement*> below = all_below(child, name);
    found.insert(found.end(), below.begin(), below.end());
  }
  return found;
}

std::vector<std::string> split_list(std::string_view text, char between) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::vector<std::string> items;
  if (text.find_first_not_of(kSpace) == std::string_view::npos) return items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(between, begin), text.size());
    const std::string_view item = text.substr(begin, comma - begin);
    const std::size_t first = std::min(item.find_first_not_of(kSpace), item.size());
    const std::size_t last = item.find_last_not_of(kSpace);
    items.emplace_back(item.substr(first, last == std::string_view::npos ? 0 : last + 1 - first));
    begin = comma + 1;
  }
  return items;
}

XmlElement only(ReadContext& context, const XmlElement& root, const std::string& name) {
  const std::vector<const XmlElement*> all = all_below(root, name);
  for (std::size_t i = 1; i < all.size(); ++i) {
    context.error(all[i]->where, "a second <" + name + ">; the first is in " +
                                     line_of(all[0]->where, all[i]->where));
  }
  XmlElement empty;
  empty.name = name;
  return all.empty() ? empty : *all[0];
}

}  // namespace leat::model
