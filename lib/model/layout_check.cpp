// SPDX-License-Identifier: Apache-2.0
#include "lib/model/layout_check.hpp"

#include "lib/model/integer_values.hpp"

namespace leat::model {
namespace {

class LayoutCheck {
 public:
  LayoutCheck(ReadContext& context, const Layout& layout, const Attributes& attributes)
      : context_(context),
        layout_(layout),
        attributes_(attributes),
        known_(context.model.parameters),
        none_(std::vector<Parameter>(context.model.parameters.size())) {}

  void dimension(const Dimension& dimension) {
    hangs_on_values_ = !dimension.varying && hangs_on_values(dimension.extent);
    hangs_on_values_ =
        hangs_on_values_ || (layout_.has_global && hangs_on_values(dimension.global));
    std::optional<std::int64_t> extent, global;
    if (!dimension.varying) extent = size("dimensions", dimension.extent);
    if (layout_.has_global) global = size("global", dimension.global);
    if (!extent) return;
    std::int64_t ghosts = 0, interior = -1;
    if (!__builtin_add_overflow(dimension.ghost_low, dimension.ghost_high, &ghosts)) {
      interior = *extent - ghosts;
    }
    if (interior < 0) {
      error("ghosts", std::to_string(dimension.ghost_low) + " and " +
                          std::to_string(dimension.ghost_high) +
                          " ghosts do not fit into the extent " + shown(dimension.extent, *extent) +
                          ", which contains them");
    } else if (global && *global < interior) {
      error("global", "the whole, " + shown(dimension.global, *global) + ", is smaller than the " +
                          std::to_string(interior) + " elements of one block without ghosts");
    }
  }

 private:
  void error(const char* attribute, const std::string& message) {
    const SourceLocation& where = attributes_.where(attribute);
    const std::string text = "layout \"" + layout_.name + "\": " + message;
    if (!layout_.may_change || !hangs_on_values_) return context_.error(where, text);
    context_.out.warning(where, text + ": the program must set other values before it writes");
  }

  bool hangs_on_values(const Expression& expression) const {
    return none_.evaluate(expression).fault == ExpressionFault::unset_parameter;
  }

  // The value if it is known and good.
  std::optional<std::int64_t> size(const char* attribute, const Expression& expression) {
    const ExpressionValue value = known_.evaluate(expression);
    if (value.fault == ExpressionFault::unset_parameter) return std::nullopt;
    if (value.fault != ExpressionFault::none) {
      error(attribute, "\"" + expression.text + "\" in " + attribute + " gives " +
                           fault_text(value.fault) + " with the parameters of this file");
      return std::nullopt;
    }
    if (value.value >= 0) return value.value;
    error(attribute,
          std::string(attribute) + " has the negative extent " + shown(expression, value.value));
    return std::nullopt;
  }

  // `"nx-8" = -4`, or just the number.
  static std::string shown(const Expression& expression, std::int64_t value) {
    const std::string number = std::to_string(value);
    return expression.text == number ? number : "\"" + expression.text + "\" = " + number;
  }

  ReadContext& context_;
  const Layout& layout_;
  const Attributes& attributes_;
  IntegerValues known_, none_;
  bool hangs_on_values_ = false;  // the dimension that is looked at
};

}  // namespace

void check_layout(ReadContext& context, const Layout& layout, const Attributes& attributes) {
  LayoutCheck check(context, layout, attributes);
  for (const Dimension& dimension : layout.dimensions) check.dimension(dimension);
}

}  // namespace leat::model
