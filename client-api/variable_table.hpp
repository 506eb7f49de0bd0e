// SPDX-License-Identifier: Apache-2.0
// What the client knows of variables, layouts and parameters: names, values, and the shape of each
// block. Private to the process; called with the session's mutex held. Lookups on the write path
// take nothing from the heap.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client-api/packing.hpp"
#include "lib/base/status.hpp"
#include "lib/shm/catalogue.hpp"

namespace leat::client {

/// Everything about one block that its header carries.
struct BlockShape {
  std::uint64_t bytes = 0;
  std::uint32_t dims = 0;
  bool has_position = false;
  std::array<std::int64_t, kMaxDims> extent{};
  std::array<std::int64_t, kMaxDims> position{};
};

/// What is remembered of one block of a variable from call to call.
struct BlockState {
  std::uint64_t allocated_offset =
      0;  ///< of the header of a leat_alloc without its commit; 0: none
  std::uint64_t shape_generation = 0;  ///< 0: never
  BlockShape shape;                    ///< valid while shape_generation is the table's
  bool has_extent = false;
  bool has_position = false;
  std::array<std::int64_t, kMaxDims> extent{};
  std::array<std::int64_t, kMaxDims> position{};
};

/// How the caller of a typed write speaks of its array, for messages.
struct CallersWords {
  const char* type_name = nullptr;  ///< "real(4)"; null: Leat's own
  bool column_major = false;
};

/// One number for each dimension, as a caller gives them.
struct NumberList {
  const std::int64_t* numbers = nullptr;
  std::int32_t count = kAsMany;
  bool column_major = false;                   ///< the dimension that varies fastest is the first
  static constexpr std::int32_t kAsMany = -1;  ///< the caller has as many as there are dimensions
};

class VariableTable {
 public:
  VariableTable(const shm::Catalogue& catalogue, std::string config);

  /// Index of the variable, or -1. Names that come in the order in which they came before are found
  /// without a search.
  std::int64_t find(const char* name) noexcept {
    if (states_.empty()) return -1;
    const std::uint32_t expected = states_[found_].following;
    if (std::strcmp(states_[expected].name.c_str(), name) != 0) return search(name);
    return found_ = expected;
  }
  /// The same with a search.
  std::int64_t index_of(std::string_view name) const noexcept;
  std::int64_t find_parameter(std::string_view name) const noexcept;
  /// `heat.xml declares no variable "temprature"; did you mean "temperature"?`
  Error unknown_variable(std::string_view name) const;
  Error unknown_parameter(std::string_view name) const;

  bool wanted(std::uint32_t variable, std::int64_t iteration) const noexcept {
    const std::uint32_t every = states_[variable].wanted_every;
    return every == 1 || (every != 0 && iteration % every == 0);
  }

  /// State of a block; made at its first mention.
  BlockState& block(std::uint32_t variable, std::uint32_t block) {
    VariableState& state = states_[variable];
    return block == 0 ? state.first : state.others[block];
  }

  /// The shape of a block now, computed at most once per change. Null, with `*error` filled, when
  /// something is missing or does not fit; with column_major it speaks as Fortran does.
  const BlockShape* shape(std::uint32_t variable, BlockState& state, Error* error,
                          bool column_major = false) {
    if (state.shape_generation == generation_) return &state.shape;
    return compute_shape(variable, state, error, column_major);
  }

  /// The shape of a block that is to be this array, whose extents are taken for "?" dimensions.
  /// Null, with `*error` filled, when the array is not what the XML declares.
  const BlockShape* adopt(std::uint32_t variable, BlockState& state, const ArrayView& array,
                          const CallersWords& words, Error* error);
  ScalarType type(std::uint32_t variable) const noexcept;
  std::uint32_t dims(std::uint32_t variable) const noexcept;
  /// `variable "u" (flow.xml:8) has 2 dimensions (x, y): 2 numbers are needed, 3 were given`
  Error wrong_count(std::uint32_t variable, const NumberList& list) const;

  /// `dims` values each; copied. Checked at the next use, when all parameters are known; only
  /// negative extents are known to be wrong at once: ERROR_ARGUMENT, and nothing is changed.
  Result<void> set_extent(std::uint32_t variable, BlockState& state, const std::int64_t* extent,
                          bool column_major = false);
  void set_position(std::uint32_t variable, BlockState& state, const std::int64_t* position);

  /// Fails with ERROR_STATE when a block of a layout that depends on it was written already.
  Result<void> set_integer(std::uint32_t parameter, std::int64_t value);
  /// From now on the parameters of this variable's layout are fixed.
  void mark_written(std::uint32_t variable) noexcept { states_[variable].written = true; }

  std::string_view name(std::uint32_t variable) const noexcept { return states_[variable].name; }
  std::string_view parameter_name(std::uint32_t index) const noexcept;
  const shm::ParameterRecord& parameter(std::uint32_t index) const noexcept;
  const std::string& config() const noexcept { return config_; }

 private:
  struct LayoutShape {
    std::uint64_t generation = 0;
    std::array<std::int64_t, kMaxDims> extent{}, global{};
  };
  /// What a write needs of a variable lies together: after a simulation has computed, each line of
  /// the cache is one to wait for.
  struct alignas(64) VariableState {
    std::string name;             ///< short ones lie within
    std::uint32_t following = 0;  ///< which variable came after this one last time
    std::uint32_t layout = 0;
    std::uint32_t wanted_every = 0;  ///< 0: nobody takes it
    bool written = false;
    BlockState first;
    std::unordered_map<std::uint32_t, BlockState> others;
  };

  std::int64_t search(std::string_view name) noexcept;
  const BlockShape* compute_shape(std::uint32_t variable, BlockState& state, Error* error,
                                  bool column_major);
  std::uint32_t layout_of(std::uint32_t variable) const noexcept {
    return states_[variable].layout;
  }
  const LayoutShape* layout_shape(std::uint32_t layout, Error* error);
  bool evaluate_into(const shm::LayoutRecord& layout, shm::ProgramRef program, std::int64_t* out,
                     Error* error) const;
  bool fill_extent(std::uint32_t variable, const BlockState& state, const LayoutShape& layout,
                   bool column_major, BlockShape* shape, Error* error) const;
  bool fill_position(std::uint32_t variable, const BlockState& state, const LayoutShape& layout,
                     bool column_major, BlockShape* shape, Error* error) const;
  bool fill_bytes(std::uint32_t variable, BlockShape* shape, Error* error) const;
  bool depends_on(const shm::LayoutRecord& layout, std::uint32_t parameter) const noexcept;
  std::string title(std::uint32_t variable) const;
  Error differs(Status status, std::uint32_t variable, const ArrayView& array,
                const CallersWords& words);

  shm::Catalogue catalogue_;
  std::string config_;
  std::unordered_map<std::string_view, std::uint32_t> variables_, parameters_;
  std::uint32_t found_ = 0;  // the variable that was found last
  std::vector<VariableState> states_;
  std::vector<LayoutShape> layouts_;
  std::vector<std::int64_t> values_;
  std::vector<std::uint8_t> set_;
  std::uint64_t generation_ = 1;  // grows when a parameter changes
};

}  // namespace leat::client
