// SPDX-License-Identifier: Apache-2.0
// The variables of the XML: which one a name means, and what is remembered of each of its blocks. Private to the
// process; called with the session's mutex held. Lookups on the write path take nothing from the heap.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client-api/session/declared.hpp"
#include "client-api/session/packing.hpp"
#include "lib/base/status.hpp"
#include "lib/shm/catalogue.hpp"

namespace leat::client {

/// Files number blocks with 32 bits and a sign.
inline constexpr std::uint32_t kMostBlock = std::numeric_limits<std::int32_t>::max();

/// What is remembered of one block of a variable from call to call.
struct BlockState {
  std::uint64_t allocated_offset =
      0;  ///< of the header of a leat_alloc without its commit; 0: none
  std::uint64_t shape_generation = 0;  ///< 0: never
  BlockShape shape;                    ///< valid while shape_generation is the table's
  BlockFacts facts;
  std::int64_t handed_over_in = -1;  ///< the last iteration of which it was handed over
};

class VariableTable {
 public:
  VariableTable(const shm::Catalogue& catalogue, std::string config);

  /// Index of the variable, or -1. Mostly without a search: the text at an address is mostly that
  /// of the last time, as literals are; and names come in the order in which they came before. Both
  /// are guesses, and the name is compared.
  std::int64_t find(const char* name) noexcept {
    if (states_.empty()) return -1;
    const std::uint32_t guess = guesses_[slot_of(name)];
    if (!is_called(guess, name)) return find_elsewhere(name);
    return found_ = guess;
  }
  /// The same with a search.
  std::int64_t index_of(std::string_view name) const noexcept;
  /// `heat.xml declares no variable "temprature"; did you mean "temperature"?`
  Error unknown_variable(std::string_view name) const;
  std::string_view name(std::uint32_t variable) const noexcept { return states_[variable].name; }
  const std::string& config() const noexcept { return config_; }
  DeclaredVariable declared(std::uint32_t variable) const noexcept {
    return {catalogue_, variable};
  }

  bool has(std::uint32_t variable) const noexcept { return variable < states_.size(); }
  /// The XML says time-varying="false" of it.
  bool is_constant(std::uint32_t variable) const noexcept { return states_[variable].constant; }
  /// Whether somebody takes the block of this iteration. One that does not vary in time is taken in the first that has it, whatever
  /// `every` says.
  bool wanted(std::uint32_t variable, const BlockState& block,
              std::int64_t iteration) const noexcept {
    const std::uint32_t every = states_[variable].wanted_every;
    return every == 1 || (every != 0 && (iteration % every == 0 ||
                                         (is_constant(variable) && block.handed_over_in < 0)));
  }

  /// Whether an array of this leat_type may be written; 0: of one that is not known.
  bool takes(std::uint32_t variable, std::int32_t type) const noexcept {
    return type == 0 || type == states_[variable].type || takes_other(variable, type);
  }

  /// State of a block; made at its first mention.
  BlockState& block(std::uint32_t variable, std::uint32_t block) {
    VariableState& state = states_[variable];
    return block == 0 ? state.first : state.others[block];
  }

  /// How many blocks were handed over in this iteration.
  std::int64_t count(std::uint32_t variable, std::int64_t iteration) const noexcept {
    const VariableState& state = states_[variable];
    return (state.first.handed_over_in == iteration ? 1 : 0) +
           std::count_if(state.others.begin(), state.others.end(), [iteration](const auto& block) {
             return block.second.handed_over_in == iteration;
           });
  }

  /// Whether a block of a variable that varies in time was handed over in this iteration. Looks at all of them.
  bool has_varying(std::int64_t iteration) const noexcept {
    for (std::uint32_t variable = 0; variable < states_.size(); ++variable)
      if (!is_constant(variable) && count(variable, iteration) > 0) return true;
    return false;
  }

  /// The shape of a block now, when it is known: not before the first call of shape(), nor after a
  /// change.
  const BlockShape* known_shape(const BlockState& state) const noexcept {
    return state.shape_generation == layouts_.generation() ? &state.shape : nullptr;
  }
  /// The shape of a block now, computed at most once per change. Null, with `*error` filled, when
  /// something is missing or does not fit; with column_major it speaks as Fortran does.
  const BlockShape* shape(std::uint32_t variable, BlockState& state, Error* error,
                          bool column_major = false);
  /// The shape of a block that is to be this array, whose extents are taken for "?" dimensions.
  /// Null, with `*error` filled, when the array is not what the XML declares.
  const BlockShape* adopt(std::uint32_t variable, BlockState& state, const ArrayView& array,
                          const CallersWords& words, Error* error);

  /// One value per dimension; copied. Checked at the next use, when all parameters are known; only
  /// negative extents are known to be wrong at once: ERROR_ARGUMENT, and nothing is changed.
  Result<void> set_extent(std::uint32_t variable, BlockState& state, const std::int64_t* extent,
                          bool column_major = false);
  /// ERROR_STATE when its blocks have levels, and nothing is changed.
  Result<void> set_position(std::uint32_t variable, BlockState& state,
                            const std::int64_t* position);
  /// Of a variable on an amr mesh.
  void set_level(std::uint32_t variable, std::uint32_t block, std::int32_t level,
                 const std::array<std::int64_t, kMaxDims>& position);

  /// Its layout has these global extents; see LayoutTable.
  bool has_global(std::uint32_t variable, const std::int64_t* extents, Error* error) const {
    return layouts_.has_global(states_[variable].layout, extents, error);
  }

  /// Extents of its global array, where it has one; of a variable whose blocks have a shape.
  void global_of(std::uint32_t variable, std::array<std::int64_t, kMaxDims>* global) {
    Error none;
    if (const LayoutShape* const layout = layouts_.shape(states_[variable].layout, &none))
      *global = layout->global;
  }

  /// Fails with ERROR_STATE when a block of a layout that depends on it was written already, unless
  /// the layout may change.
  Result<void> set_integer(std::uint32_t parameter, std::int64_t value);
  /// From now on the parameters of this variable's layout are fixed.
  void mark_written(std::uint32_t variable) noexcept { states_[variable].written = true; }

 private:
  /// What a write needs of a variable lies together: after a simulation has computed, each line of
  /// the cache is one to wait for.
  struct alignas(64) VariableState {
    std::string name;             ///< short ones lie within
    std::uint32_t following = 0;  ///< which variable came after this one last time
    std::uint32_t layout = 0;
    std::uint32_t wanted_every = 0;  ///< 0: nobody takes it
    std::uint8_t type = 0;
    bool written = false, constant = false;
    BlockState first;
    std::unordered_map<std::uint32_t, BlockState> others;
  };

  // Fibonacci hashing: the upper bits of the product depend on all bits of the address.
  std::size_t slot_of(const char* name) const noexcept {
    return reinterpret_cast<std::uintptr_t>(name) * 0x9E3779B97F4A7C15u >> guess_shift_;
  }
  bool is_called(std::uint32_t variable, const char* name) const noexcept {
    return std::strcmp(states_[variable].name.c_str(), name) == 0;
  }
  bool takes_other(std::uint32_t variable, std::int32_t type) const noexcept;
  std::int64_t find_elsewhere(const char* name) noexcept;

  shm::Catalogue catalogue_;
  std::string config_;
  LayoutTable layouts_;
  std::unordered_map<std::string_view, std::uint32_t> variables_;
  std::vector<VariableState> states_;
  std::vector<std::uint32_t> guesses_;  // by address: the variable that was found there last
  int guess_shift_;
  std::uint32_t found_ = 0;  // the variable that was found last
};

}  // namespace leat::client
