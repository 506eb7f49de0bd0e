// SPDX-License-Identifier: Apache-2.0
#include "server/derive/inputs_of_neighbours.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace leat::server {
namespace {

using What = model::Along::What;

bool is_linear(const model::Selected& part) { return part.place && part.place->is_linear; }

// How an array that has all of a block, but for what is fixed, lies to what is selected of it.
void lay(const Interior& own, const std::vector<model::Selected>& parts,
         const std::vector<double>& values, ArrayInput* input) {
  *input = ArrayInput{};
  std::int64_t step = 1, first = 0;
  std::size_t kept = 0;
  for (const model::Selected& part : parts) kept += part.is_one ? 0 : 1;
  for (std::size_t d = parts.size(); d-- > 0;) {
    const model::Selected& part = parts[d];
    if (part.is_one) continue;
    const std::int64_t behind = std::max<std::int64_t>(0, own.begin[d] - part.first);
    const std::int64_t number = (behind + part.step - 1) / part.step;
    first += (part.first + number * part.step - own.begin[d]) * step;
    input->steps[--kept] = part.step * step;
    step *= own.count[d];
  }
  input->data = values.data() + first;
}

}  // namespace

InputsOfNeighbours::InputsOfNeighbours(const model::Model& model, const DerivedFrom& from,
                                       const model::Derived& derived,
                                       const std::vector<model::Selected>& parts)
    : model_(model), from_(from), derived_(derived), parts_(parts) {
  if (derived.of_neighbours == What::derivative) gradient_.emplace(model, from, derived);
  if (derived.of_neighbours != What::middle) return;
  const Neighbours neighbours = neighbours_of(derived.main);
  std::set<std::int64_t> begins, ends;
  for (const Block& each : from.blocks.at(derived.main)) {
    const Interior own = neighbours.interior_of(each);
    const std::int64_t begin = own.begin[*derived.along], count = own.count[*derived.along];
    begins.insert(begin);
    if (count > 1) ends.insert(begin + count - 1);
  }
  shares_last_ = std::any_of(ends.begin(), ends.end(),
                             [&](std::int64_t last) { return begins.count(last) > 0; });
}

std::string InputsOfNeighbours::compute(
    const Block& of, const std::vector<std::int64_t>& extents, std::vector<ArrayInput>* inputs,
    std::vector<std::shared_ptr<const std::vector<double>>>* computed) const {
  const bool any_linear = std::any_of(parts_.begin(), parts_.end(), is_linear);
  if (derived_.of_neighbours == What::nothing && !any_linear) return "";
  for (std::size_t n = 0; n < inputs->size(); ++n) {
    const model::Derived::Input& what = derived_.inputs[n];
    if (what.is_parameter) continue;
    const model::Variable& variable = model_.variables[what.number];
    // One of fewer dimensions has none of those that are linear.
    if (model_.layouts[variable.layout].dimensions.size() != parts_.size()) continue;
    ArrayInput& input = (*inputs)[n];
    auto values = std::make_shared<std::vector<double>>();
    std::string why;
    if (any_linear) {
      why = between(what.number, of, &input, values.get());
    } else {
      why = gradient_ ? gradient_->compute(of, values.get()) : middle(of, extents, values.get());
      input = ArrayInput{};
      input.data = values->data();
      input.is_like_result = true;
    }
    if (!why.empty()) return why;
    computed->push_back(std::move(values));
  }
  return "";
}

// Of each two along the dimension; of the last one in the block and the first one behind it, too.
std::string InputsOfNeighbours::middle(const Block& of, const std::vector<std::int64_t>& extents,
                                       std::vector<double>* values) const {
  const std::size_t along = *derived_.along;
  const Neighbours neighbours = neighbours_of(derived_.main);
  const Interior own = neighbours.interior_of(of);
  std::vector<double> room, behind;
  const std::int64_t count = extents[along];
  FixedIndices fixed{};
  fixed[along] = own.begin[along] + own.count[along];
  if (count == own.count[along]) {
    if (std::string why = neighbours.take(own, fixed, &behind); !why.empty()) return why;
  }
  const double* const all = neighbours.values_of(own, &room);
  std::int64_t outer = 1, inner = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (d != along) (d < along ? outer : inner) *= own.count[d];
  }
  values->resize(static_cast<std::size_t>(outer * count * inner));
  double* to = values->data();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double* const low = all + (o * own.count[along] + i) * inner;
      const double* const high = i + 1 < own.count[along] ? low + inner : behind.data() + o * inner;
      for (std::int64_t k = 0; k < inner; ++k) *to++ = (low[k] + high[k]) / 2;
    }
  }
  return "";
}

// Each corner counts as much as the place is near to it.
std::string InputsOfNeighbours::between(std::uint32_t variable, const Block& of, ArrayInput* input,
                                        std::vector<double>* values) const {
  const Neighbours neighbours = neighbours_of(variable);
  const Block* const block = neighbours.block_of(of.rank, of.block);
  if (!block) return "";  // that was said
  const Interior own = neighbours.interior_of(*block);
  std::vector<std::size_t> linear;
  FixedIndices corner{};
  for (std::size_t d = 0; d < parts_.size(); ++d) {
    if (parts_[d].is_one) corner[d] = parts_[d].first;
    if (is_linear(parts_[d]) && parts_[d].beside > 0) linear.push_back(d);
  }
  std::vector<double> some;
  for (std::size_t which = 0; which < std::size_t{1} << linear.size(); ++which) {
    double weight = 1;
    for (std::size_t i = 0; i < linear.size(); ++i) {
      const model::Selected& part = parts_[linear[i]];
      const bool is_next = (which >> i & 1) != 0;
      corner[linear[i]] = part.first + (is_next ? 1 : 0);
      weight *= is_next ? part.beside : 1 - part.beside;
    }
    if (std::string why = neighbours.take(own, corner, &some); !why.empty()) return why;
    values->resize(some.size());
    for (std::size_t k = 0; k < some.size(); ++k)
      (*values)[k] = (which == 0 ? 0 : (*values)[k]) + weight * some[k];
  }
  lay(own, parts_, *values, input);
  return "";
}

}  // namespace leat::server
