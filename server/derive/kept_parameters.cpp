// SPDX-License-Identifier: Apache-2.0
#include "server/derive/kept_parameters.hpp"

#include <bit>
#include <limits>

namespace leat::server {
namespace {

constexpr std::size_t kWordsOfOne = 2;  // of a parameter: which kind it is, and its value
constexpr double kIsNone = 0, kIsInteger = 1, kIsReal = 2;

// No variable has this number.
Block parameters_block(std::size_t parameters) {
  Block place;
  place.variable = std::numeric_limits<std::uint32_t>::max();
  place.extent[0] = static_cast<std::int64_t>(kWordsOfOne * parameters);
  return place;
}

void put_value(const ParameterValue& value, double* words) {
  words[0] = kIsNone;
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) {
    words[0] = kIsInteger;
    words[1] = std::bit_cast<double>(*integer);
  } else if (const auto* const real = std::get_if<double>(&value)) {
    words[0] = kIsReal;
    words[1] = *real;
  }
}

ParameterValue value_in(const double* words) {
  if (words[0] == kIsInteger) return std::bit_cast<std::int64_t>(words[1]);
  if (words[0] == kIsReal) return words[1];
  return {};
}

}  // namespace

void keep_parameters(const Iteration& iteration, Sums* sums) {
  if (iteration.parameters.empty()) return;
  const Block place = parameters_block(iteration.parameters.size());
  Sum* sum = sums->own(place, 1);
  if (!sum) {
    Result<Sum*> made = sums->make(place, 1, 1, sums->own(place));
    if (!made) return;
    sum = *made;
  }
  const SlotPair<SumSlot> slots = begin_slot(sum->head().slots, iteration.number);
  if (!slots.now || slots.is_done) return;
  double* words = sum->array(slots.number, 0);
  for (const ParameterValue& each : iteration.parameters) {
    put_value(each, words);
    words += kWordsOfOne;
  }
  slots.now->number.store(iteration.number + 1, std::memory_order_release);
}

std::vector<ParameterValue> kept_parameters(std::int64_t iteration, Sums* sums) {
  std::vector<ParameterValue> values;
  const Sum* const sum = sums->own(parameters_block(0));
  if (!sum) return values;
  for (int slot = 0; slot < 2; ++slot) {
    if (sum->head().slots[slot].number.load() != iteration + 1) continue;
    const double* const words = sum->array(slot, 0);
    for (std::uint64_t i = 0; i + 1 < sum->head().elements; i += kWordsOfOne)
      values.push_back(value_in(words + i));
  }
  return values;
}

}  // namespace leat::server
