// SPDX-License-Identifier: Apache-2.0
// Reads <layout>, and what a <variable> says itself of what one says: type, dimensions and ghost cells.

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/model/checks.hpp"
#include "lib/model/expression_parser.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {

namespace {

bool read_count(std::string_view text, std::int64_t& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc{} && end == text.data() + text.size() && number >= 0;
}

// "1:2", or "1" for both ends.
bool read_ghosts(const std::string& text, Dimension& dimension) {
  const std::size_t colon = text.find(':');
  const std::string low = text.substr(0, colon);
  const std::string high = colon == std::string::npos ? low : text.substr(colon + 1);
  std::int64_t sum = 0;
  return read_count(low, dimension.ghost_low) && read_count(high, dimension.ghost_high) &&
         !__builtin_add_overflow(dimension.ghost_low, dimension.ghost_high, &sum);
}

bool is_identifier(const std::string& text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto later = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), later);
}

class LayoutReader {
 public:
  LayoutReader(ReadContext& context, const XmlElement& element)
      : context_(context), attributes_(context, element) {
    attributes_.read_fields(&layout_);
    layout_.where = element.where;
  }
  /// Of a <variable>: one that is called `name`.
  LayoutReader(ReadContext& context, const XmlElement& element, const std::string& name)
      : LayoutReader(context, element) {
    layout_.name = name;
    layout_.description.clear();
  }

  Layout run() {
    read_dimensions();
    const bool shape_known = attributes_.given("dimensions") && fits_;
    if (shape_known) {
      read_global();
      read_position();
      read_all_ghosts();
      read_names();
    }
    if (shape_known && fits_) check_layout(context_, layout_, attributes_);
    to_c_order();
    return std::move(layout_);
  }

 private:
  void error(const char* attribute, const std::string& message) {
    fits_ = false;
    context_.error(attributes_.where(attribute), attributes_.title() + ": " + message);
  }

  Expression expression(const char* attribute, std::size_t index, const std::string& text) {
    ParsedExpression parsed = parse_expression(text, context_.model.parameters);
    if (text.empty()) {
      error(attribute, "item " + std::to_string(index + 1) + " of " + attribute +
                           " is empty: there is a comma too many");
    } else if (!parsed.problem.empty()) {
      error(attribute, std::string(attribute) + ", " + problem_text(parsed, text));
    }
    return {text, std::move(parsed.program)};
  }

  void read_dimensions() {
    const std::vector<std::string> items = split_list(attributes_.text("dimensions"));
    if (items.size() > kMaxDims) {
      return error("dimensions",
                   std::to_string(items.size()) + " dimensions; 8 are the most that there can be");
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      Dimension dimension;
      dimension.varying = items[i].starts_with('?');
      const std::string size = items[i].substr(dimension.varying ? 1 : 0);
      if (items[i] != "?") dimension.extent = expression("dimensions", i, size);
      layout_.dimensions.push_back(std::move(dimension));
    }
  }

  // The items of an attribute that has one for each dimension; none when it is not given or does
  // not fit.
  std::vector<std::string> per_dimension(const char* attribute) {
    std::vector<std::string> items = split_list(attributes_.text(attribute));
    const std::size_t wanted = layout_.dimensions.size();
    if (items.empty() || items.size() == wanted) return items;
    error(attribute, std::string(attribute) + " has " + std::to_string(items.size()) +
                         (items.size() == 1 ? " item" : " items") + ", but dimensions=\"" +
                         attributes_.text("dimensions") + "\" has " + std::to_string(wanted));
    return {};
  }

  void read_global() {
    const std::vector<std::string> items = per_dimension("global");
    layout_.has_global = !items.empty();
    layout_.partial = attributes_.text("coverage") == "partial";
    if (attributes_.given("coverage") && !layout_.has_global)
      error("coverage", "coverage speaks of the global array, and there is no global=\"...\"");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i] == "?") {
        error("global", "\"?\" cannot stand in global: the size of the whole must be known");
      } else {
        layout_.dimensions[i].global = expression("global", i, items[i]);
      }
    }
  }

  void read_position() {
    const std::vector<std::string> items = per_dimension("position");
    if (!items.empty() && !layout_.has_global)
      return error("position", "position is in the global array, and there is no global=\"...\"");
    for (std::size_t i = 0; i < items.size(); ++i)
      layout_.dimensions[i].position = expression("position", i, items[i]);
  }

  void read_all_ghosts() {
    const std::vector<std::string> items = per_dimension("ghosts");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (read_ghosts(items[i], layout_.dimensions[i])) continue;
      error("ghosts",
            "\"" + items[i] + "\" in ghosts is no \"low:high\", like \"1:1\", nor a number");
    }
  }

  void read_names() {
    if (attributes_.text("names").find(';') != std::string::npos)
      return error("names", "names=\"" + attributes_.text("names") +
                                "\": \";\" separates lists of several variables in one "
                                "<variable name=\"u,v\">; this has one list, with \",\" between");
    const std::vector<std::string> items = per_dimension("names");
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!is_identifier(items[i])) {
        error("names", "\"" + items[i] + "\" is no name of a dimension: expected " +
                           "a letter or \"_\", then letters, digits and \"_\"");
      } else if (std::find(items.begin(), items.begin() + i, items[i]) != items.begin() + i) {
        error("names", "two dimensions have the name \"" + items[i] + "\"");
      }
      layout_.dimensions[i].name = items[i];
    }
  }

  // Files are the same whichever order the XML has.
  void to_c_order() {
    std::vector<Dimension>& dimensions = layout_.dimensions;
    if (layout_.order == Order::fortran) std::reverse(dimensions.begin(), dimensions.end());
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i].name.empty()) dimensions[i].name = layout_.name + "_" + std::to_string(i);
    }
  }

  ReadContext& context_;
  Attributes attributes_;
  Layout layout_;
  bool fits_ = true;
};

}  // namespace

std::vector<const XmlAttribute*> shape_in(const ReadContext& context, const XmlElement& variable) {
  const ElementRule& layout = *context.schema.find("layout");
  std::vector<const XmlAttribute*> said;
  for (const XmlAttribute& each : variable.attributes) {
    if (each.name != "name" && each.name != "description" && layout.find(each.name))
      said.push_back(&each);
  }
  return said;
}

std::optional<std::uint32_t> layout_in(ReadContext& context, const XmlElement& variable,
                                       const std::string& name) {
  std::string text;
  const std::vector<const XmlAttribute*> said = shape_in(context, variable);
  if (!variable.find("type") || !variable.find("dimensions")) {
    const XmlAttribute& first = *said.front();
    context.error(first.where, Attributes(context, variable).title() + " has " + first.name +
                                   "=\"" + first.value +
                                   "\", of a shape of its own, which needs both type=\"...\" and "
                                   "dimensions=\"...\"; or write " +
                                   first.name + " into its <layout>");
    return std::nullopt;
  }
  for (const AttributeRule& each : context.schema.find("layout")->attributes) {
    const XmlAttribute* const own = variable.find(each.name);
    if (each.name != "name" && each.name != "description")
      text += (own ? own->value : each.default_value) + "|";
  }
  const auto number = static_cast<std::uint32_t>(context.model.layouts.size());
  const auto [place, is_new] = context.shapes.try_emplace(text, number);
  if (is_new) context.model.layouts.push_back(LayoutReader(context, variable, name).run());
  return place->second;
}

void read_layouts(ReadContext& context, const XmlElement& root) {
  for (const XmlElement* element : all_below(root, "layout")) {
    add_named(context, &context.model.layouts, "layout", LayoutReader(context, *element).run(),
              Attributes(context, *element));
  }
}

}  // namespace leat::model
