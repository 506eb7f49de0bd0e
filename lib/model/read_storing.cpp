// SPDX-License-Identifier: Apache-2.0
// How stores put values down, as store-type="...", scale="...", offset="..." and keep-bits="..." say: options of the variable, for those who
// store it.
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "lib/base/stored_as.hpp"
#include "lib/model/model.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model {
namespace {

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc{} || stop != end) return std::nullopt;
  return value;
}

class StoringReader {
 public:
  StoringReader(ReadContext& context, const ToDerive& told)
      : context_(context), told_(told), variable_(context.model.variables[told.variable]) {}

  StoringResult read(ScalarType type) {
    const bool is_packed = !told_.scale.text.empty() || !told_.offset.text.empty();
    if (!is_packed && told_.keep_bits.text.empty()) return StoringResult::as_it_is;
    const bool is_good = is_packed ? pack(type) : keep_bits(type);
    return is_good ? StoringResult::by_the_store : StoringResult::refused;
  }

 private:
  bool refuse(const Said& said, const std::string& name, const std::string& why) {
    context_.error(said.where, "variable \"" + variable_.name + "\": " + name + "=\"" + said.text +
                                   "\": " + why);
    return false;
  }

  void add_option(const char* name, std::string value) {
    variable_.options.push_back({name, std::move(value), told_.expression.where});
  }

  // It has been checked that the type is one of numbers.
  bool pack(ScalarType type) {
    const bool has_scale = !told_.scale.text.empty();
    const Said& first = has_scale ? told_.scale : told_.offset;
    const std::string name = has_scale ? kScale : kOffset;
    if (!can_pack_in(type))
      return refuse(
          first, name,
          variable_.derived->store_type
              ? "it is for whole numbers of up to 32 bits, and " + std::string(scalar_name(type)) +
                    " has values as they are: write store-type=\"int16\", or take " + name + " away"
              : "of what type the whole numbers are that stand for the values? Write "
                "store-type=\"int16\", or another one of up to 32 bits");
    if (!told_.keep_bits.text.empty())
      return refuse(told_.keep_bits, kKeepBits,
                    std::string(scalar_name(type)) + " has no mantissa: take it away");
    const std::optional<double> scale = has_scale ? number_in(told_.scale.text) : 1.0;
    const std::optional<double> offset =
        told_.offset.text.empty() ? 0.0 : number_in(told_.offset.text);
    if (!scale || !std::isfinite(*scale) || *scale == 0)
      return refuse(told_.scale, kScale,
                    "it is the step from one value to the next that can be stored, and no such "
                    "number: write one, as scale=\"0.01\"");
    if (!offset || !std::isfinite(*offset))
      return refuse(told_.offset, kOffset,
                    "it is the value that is stored as 0, and no such number: write one, as "
                    "offset=\"273.15\"");
    StoredAs as{.type = type, .scale = *scale, .offset = *offset};
    if (!std::isfinite(as.low()) || !std::isfinite(as.high()))
      return refuse(first, name, "what is stored goes beyond all numbers: write a smaller one");
    add_option(kStoreType, scalar_name(type));
    add_option(kScale, has_scale ? told_.scale.text : "1");
    add_option(kOffset, told_.offset.text.empty() ? "0" : told_.offset.text);
    return true;
  }

  bool keep_bits(ScalarType type) {
    const bool is_real = type == ScalarType::float32 || type == ScalarType::float64;
    const int most = type == ScalarType::float32 ? 23 : 52;
    const double bits = number_in(told_.keep_bits.text).value_or(0);
    if (!is_real)
      return refuse(told_.keep_bits, kKeepBits,
                    std::string(scalar_name(type)) + " has no mantissa");
    if (bits < 1 || bits > most || bits != std::floor(bits))
      return refuse(told_.keep_bits, kKeepBits,
                    "the mantissa of " + std::string(scalar_name(type)) + " has 1 to " +
                        std::to_string(most) + " bits to keep, a whole number");
    add_option(kStoreType, scalar_name(type));
    add_option(kKeepBits, std::to_string(static_cast<int>(bits)));
    variable_.comment += (variable_.comment.empty() ? "" : "; ") +
                         ("rounded to " + told_.keep_bits.text) + " bits of the mantissa";
    return true;
  }

  ReadContext& context_;
  const ToDerive& told_;
  Variable& variable_;
};

}  // namespace

StoringResult read_storing(ReadContext& context, const ToDerive& told, ScalarType type) {
  return StoringReader(context, told).read(type);
}

}  // namespace leat::model
