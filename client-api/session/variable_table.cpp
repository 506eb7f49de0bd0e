// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/variable_table.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "lib/base/text.hpp"

namespace leat::client {
namespace {

// Of what the server makes: no call can mean it.
constexpr const char* kNobodysName = "\n";

// Twice as many guesses as variables, so that few addresses share one.
int bits_of_guesses(std::size_t variables) {
  return std::max(6, static_cast<int>(std::bit_width(variables)) + 1);
}

}  // namespace

VariableTable::VariableTable(const shm::Catalogue& catalogue, std::string config)
    : catalogue_(catalogue), config_(std::move(config)), layouts_(catalogue, config_) {
  const auto records = catalogue_.variables();
  states_.resize(records.size());
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const bool is_of_ranks = (records[i].flags & shm::kMadeByServer) == 0;
    states_[i].name = is_of_ranks ? catalogue_.text(records[i].name) : kNobodysName;
    states_[i].layout = records[i].layout;
    states_[i].wanted_every = records[i].wanted_every;
    states_[i].type = static_cast<std::uint8_t>(declared(i).type());
    states_[i].constant = (records[i].flags & shm::kConstant) != 0;
    if (is_of_ranks) variables_.emplace(states_[i].name, i);
  }
  const int bits = bits_of_guesses(records.size());
  guess_shift_ = 64 - bits;
  guesses_.resize(std::size_t{1} << bits);
}

// Names in one buffer, as Fortran's are, have one address: there their order is the better guess.
std::int64_t VariableTable::find_elsewhere(const char* name) noexcept {
  const std::uint32_t expected = states_[found_].following;
  const std::int64_t found = is_called(expected, name) ? expected : index_of(name);
  if (found < 0) return -1;
  const auto variable = static_cast<std::uint32_t>(found);
  guesses_[slot_of(name)] = variable;
  return found_ = states_[found_].following = variable;
}

bool VariableTable::takes_other(std::uint32_t variable, std::int32_t type) const noexcept {
  return declared(variable).has_parts_of(static_cast<ScalarType>(type));
}

std::int64_t VariableTable::index_of(std::string_view name) const noexcept {
  const auto found = variables_.find(name);
  return found == variables_.end() ? std::int64_t{-1} : found->second;
}

Error VariableTable::unknown_variable(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& record : catalogue_.variables()) {
    const std::string each(catalogue_.text(record.name));
    if ((record.flags & shm::kMadeByServer) == 0) {
      names.push_back(each);
    } else if (each == name) {
      return {Status::ERROR_UNKNOWN_NAME,
              "the server makes \"" + each + "\" of other variables, as " + config_ +
                  " says at expr=\"...\": it is not written by the simulation"};
    }
  }
  return {Status::ERROR_UNKNOWN_NAME, config_ + " declares no variable \"" + std::string(name) +
                                          "\"" + did_you_mean(name, names)};
}

Result<void> VariableTable::set_extent(std::uint32_t variable, BlockState& state,
                                       const std::int64_t* extent, bool column_major) {
  const DeclaredVariable what = declared(variable);
  Error error = what.negative_extent(extent, column_major);
  if (error.status != Status::OK) return error;
  std::copy_n(extent, what.dims(), state.facts.extent.begin());
  state.facts.has_extent = true;
  state.shape_generation = 0;
  return {};
}

Result<void> VariableTable::set_position(std::uint32_t variable, BlockState& state,
                                         const std::int64_t* position) {
  const DeclaredVariable what = declared(variable);
  Error error = what.has_levels();
  if (error.status != Status::OK) return error;
  std::copy_n(position, what.dims(), state.facts.position.begin());
  state.facts.has_position = true;
  state.shape_generation = 0;
  return {};
}

void VariableTable::set_level(std::uint32_t variable, std::uint32_t block, std::int32_t level,
                              const std::array<std::int64_t, kMaxDims>& position) {
  BlockState& state = this->block(variable, block);
  if (state.facts.level == level && state.facts.position == position) return;
  state.facts.level = level;
  state.facts.position = position;
  state.shape_generation = 0;
}

Result<void> VariableTable::set_integer(std::uint32_t parameter, std::int64_t value) {
  if (layouts_.is_set_to(parameter, value) && !layouts_.is_refused(parameter)) return {};
  if (layouts_.is_set_to(parameter, value)) {
    layouts_.set(parameter, value);
    return {};
  }
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].written || (catalogue_.variables()[i].flags & shm::kShapeMayChange) != 0)
      continue;
    const shm::LayoutRecord& layout = catalogue_.layouts()[states_[i].layout];
    if (!layouts_.depends_on(layout, parameter)) continue;
    const std::string name(catalogue_.text(catalogue_.parameters()[parameter].name));
    layouts_.refuse(parameter, value);
    return Error{
        Status::ERROR_STATE,
        "parameter \"" + name + "\" shapes layout \"" + std::string(catalogue_.text(layout.name)) +
            "\" (" + std::string(catalogue_.text(layout.where)) +
            "), of which blocks were written already: say varying=\"true\" in the layout if "
            "it may change, or set it before the first write. Until it has its value again "
            "writes of that layout are refused"};
  }
  layouts_.set(parameter, value);
  return {};
}

const BlockShape* VariableTable::shape(std::uint32_t variable, BlockState& state, Error* error,
                                       bool column_major) {
  if (known_shape(state)) return &state.shape;
  const LayoutShape* layout = layouts_.shape(states_[variable].layout, error);
  if (!layout) return nullptr;
  BlockShape shape;
  BlockFacts facts = state.facts;
  const bool is_first = &state == &states_[variable].first;
  if (is_first && !facts.has_position && layouts_.says_position(states_[variable].layout)) {
    if (!layouts_.position(states_[variable].layout, &facts.position, error)) return nullptr;
    facts.has_position = true;
  }
  if (!facts.has_extent && !layouts_.knows_extents(states_[variable].layout, error)) return nullptr;
  if (!declared(variable).fill(&shape, *layout, facts, column_major, error)) return nullptr;
  state.shape = shape;
  state.shape_generation = layouts_.generation();
  return &state.shape;
}

const BlockShape* VariableTable::adopt(std::uint32_t variable, BlockState& state,
                                       const ArrayView& array, const CallersWords& words,
                                       Error* error) {
  const DeclaredVariable what = declared(variable);
  Error unknown;
  const LayoutShape* layout = layouts_.shape(states_[variable].layout, &unknown);
  if (array.type != what.type()) {
    *error = what.differs(Status::ERROR_TYPE, layout, array, words);
    return nullptr;
  }
  if (!layout) {
    *error = std::move(unknown);
    return nullptr;
  }
  if (!what.fits(array, *layout)) {
    *error = what.differs(Status::ERROR_SHAPE, layout, array, words);
    return nullptr;
  }
  bool news = false;
  for (std::uint32_t d = 0; d < array.dims; ++d) {
    const bool is_said = state.facts.has_extent && state.facts.extent[d] == array.extent[d];
    news = news || (what.varies(d) && !is_said);
  }
  // No extent is negative: it fits.
  if (news) (void)set_extent(variable, state, array.extent.data(), words.column_major);
  return shape(variable, state, error, words.column_major);
}

}  // namespace leat::client
