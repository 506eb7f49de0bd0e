// SPDX-License-Identifier: Apache-2.0
// What the XML declares, as the catalogue has it, and what that is for this rank now: parameters, layouts, variables.
// Private to the process; called with the session's mutex held.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client-api/session/packing.hpp"
#include "lib/base/scalar.hpp"
#include "lib/base/status.hpp"
#include "lib/shm/catalogue.hpp"
#include "lib/shm/steering.hpp"

namespace leat::client {

// The parameters of the XML, and what each is for this rank now: the XML's value, what the rank has
// set, or what was steered, whichever came last.

/// Numbers of shm::ParameterRecord::kind.
inline constexpr std::uint32_t kInteger = 1, kReal = 2, kText = 3;

class ParameterTable {
 public:
  /// `config`: the XML's path, for messages.
  ParameterTable(const shm::Catalogue& catalogue, std::string config);

  /// Index of the parameter, or -1.
  std::int64_t find(std::string_view name) const noexcept;
  /// `heat.xml declares no parameter "nz"; did you mean "nx"?`
  Error unknown(std::string_view name) const;
  const std::string& name(std::uint32_t parameter) const noexcept {
    return parameters_[parameter].name;
  }
  std::uint32_t kind(std::uint32_t parameter) const noexcept { return parameters_[parameter].kind; }

  const ParameterValue& value(std::uint32_t parameter) const noexcept {
    return parameters_[parameter].value;
  }
  /// Of the parameter's kind.
  void set(std::uint32_t parameter, ParameterValue value) {
    parameters_[parameter].value = std::move(value);
  }
  void set_steered(std::uint32_t parameter, const shm::SteeredValue& value);

 private:
  struct Parameter {
    std::string name;
    std::uint32_t kind = 0;
    ParameterValue value;
  };

  std::string config_;
  std::vector<Parameter> parameters_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

// What the layouts of the XML are now: their extents, computed from the parameters that the
// simulation has set.
struct LayoutShape {
  std::uint64_t generation = 0;  ///< of the parameters that it was computed from; 0: never
  std::array<std::int64_t, kMaxDims> extent{}, global{};
};
/// Extent of a dimension "?", which leat_set_extent says, and of "?n" as long as n has no value.
inline constexpr std::int64_t kNotKnown = -1;

class LayoutTable {
 public:
  /// `config`: the XML's path, for messages.
  LayoutTable(const shm::Catalogue& catalogue, const std::string& config);

  /// Grows when a parameter changes: what was computed before may differ then.
  std::uint64_t generation() const noexcept { return generation_; }
  /// Computed at most once per change. Null, with `*error` filled, when a parameter has no value or
  /// an extent cannot be.
  const LayoutShape* shape(std::uint32_t layout, Error* error);
  /// Where the first block of a rank lies, if the XML says it; with the same errors.
  bool says_position(std::uint32_t layout) const noexcept;
  bool position(std::uint32_t layout, std::array<std::int64_t, kMaxDims>* position,
                Error* error) const;

  bool is_set_to(std::uint32_t parameter, std::int64_t value) const noexcept {
    return set_[parameter] != 0 && values_[parameter] == value;
  }
  void set(std::uint32_t parameter, std::int64_t value) noexcept;
  /// The caller was refused another value for it, and may go on with arrays of that: no layout that
  /// it shapes has a shape until it is set to what it is.
  void refuse(std::uint32_t parameter, std::int64_t value) noexcept;
  bool is_refused(std::uint32_t parameter) const noexcept { return refused_.count(parameter) != 0; }
  /// with_varying: of the extents "?n" too, which may be others at any time.
  bool depends_on(const shm::LayoutRecord& layout, std::uint32_t parameter,
                  bool with_varying = false) const noexcept;
  /// Its global extents are these, with the parameters as they are now. False: `*error` says what they are.
  bool has_global(std::uint32_t layout, const std::int64_t* extents, Error* error) const;
  /// Whether parameters give what they are to give of "?n", or why they do not.
  bool knows_extents(std::uint32_t layout, Error* error) const;

 private:
  bool is_certain(const shm::LayoutRecord& layout, Error* error) const;
  /// `what` it is, for messages.
  bool evaluate_into(const shm::LayoutRecord& layout, const char* what, shm::ProgramRef program,
                     std::int64_t* out, Error* error) const;

  shm::Catalogue catalogue_;
  std::string config_;
  std::vector<LayoutShape> layouts_;
  std::vector<std::int64_t> values_;
  std::vector<std::uint8_t> set_;
  std::map<std::uint32_t, std::int64_t> refused_;  // by parameter: the value
  std::uint64_t generation_ = 1;
};

// One variable as the XML declares it, and whether a block or an array is what is declared. Reads
// the catalogue only.

/// What a block's header says of its shape, in the header's order.
struct BlockShape {
  std::uint32_t dims = 0;
  shm::Place place = shm::Place::none;
  std::uint16_t level = 0;
  std::uint64_t bytes = 0;
  std::array<std::int64_t, kMaxDims> extent{};
  std::array<std::int64_t, kMaxDims> position{};

  /// Into a header: few wide moves.
  void write_to(shm::BlockHeader* header) const noexcept;
};

/// What the caller has said of a block.
struct BlockFacts {
  bool has_extent = false;
  bool has_position = false;
  std::int32_t level = -1;  ///< of its amr mesh, in which its position is; -1: not said
  std::array<std::int64_t, kMaxDims> extent{};
  std::array<std::int64_t, kMaxDims> position{};
};

/// "(64, 32)", in the caller's order; `first`: the index of the first element of an array there.
std::string shape_text(const std::int64_t* extents, std::uint32_t dims, bool column_major,
                       std::int64_t first = 0);
/// "double" rather than "float64": the name that stands in most XML files.
const char* familiar_name(ScalarType type);

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

/// The same of values of parameters.
struct RealList {
  const double* numbers = nullptr;
  std::int32_t count = NumberList::kAsMany;
};

class DeclaredVariable {
 public:
  DeclaredVariable(const shm::Catalogue& catalogue, std::uint32_t variable) noexcept;

  ScalarType type() const noexcept { return static_cast<ScalarType>(layout_.type); }
  /// Whether an array of another type holds the same: complex numbers may come as their parts.
  bool has_parts_of(ScalarType type) const noexcept;
  std::uint32_t dims() const noexcept { return layout_.dims; }
  bool varies(std::uint32_t dimension) const noexcept {
    return dimensions_[dimension].varying != 0;
  }

  std::int64_t ghosts_before(std::uint32_t dimension) const noexcept {
    return dimensions_[dimension].ghost_low;
  }
  std::int64_t ghosts_behind(std::uint32_t dimension) const noexcept {
    return dimensions_[dimension].ghost_high;
  }

  /// The shape of a block of which the caller has said this. False, with `*error` filled, when
  /// something is missing or does not fit; with column_major it speaks as Fortran does.
  bool fill(BlockShape* shape, const LayoutShape& layout, const BlockFacts& facts,
            bool column_major, Error* error) const;
  /// Whether an array has the extents that are not "?".
  bool fits(const ArrayView& array, const LayoutShape& layout) const noexcept;

  /// `"u" is declared double (ny=4, nx=?) in flow.xml:8, got float (4, 7)`; layout: null when its
  /// extents are not known.
  Error differs(Status status, const LayoutShape* layout, const ArrayView& array,
                const CallersWords& words) const;
  /// The same for an array of which nothing but the type is known.
  Error differs(ScalarType type) const;
  /// `variable "u" (flow.xml:8) has 2 dimensions (x, y): 2 numbers are needed, 3 were given`
  Error wrong_count(const NumberList& list) const;
  /// `variable "rho" (gas.xml:8) lies on the amr mesh "gas": ...`; OK when it lies on none.
  Error has_levels() const;
  /// Which of these extents cannot be; OK when none.
  Error negative_extent(const std::int64_t* extent, bool column_major) const;

 private:
  std::string title() const;
  bool fill_extent(BlockShape* shape, const LayoutShape& layout, const BlockFacts& facts,
                   bool column_major, Error* error) const;
  bool fill_place(BlockShape* shape, const LayoutShape& layout, const BlockFacts& facts,
                  bool column_major, Error* error) const;
  bool fill_level(BlockShape* shape, const BlockFacts& facts, const shm::MeshRecord& mesh,
                  Error* error) const;
  bool fill_position(BlockShape* shape, const LayoutShape& layout, const BlockFacts& facts,
                     bool column_major, Error* error) const;
  bool fill_bytes(BlockShape* shape, Error* error) const;

  const shm::Catalogue& catalogue_;
  const shm::VariableRecord& record_;
  const shm::LayoutRecord& layout_;
  std::span<const shm::DimensionRecord> dimensions_;
};

static_assert(offsetof(BlockShape, place) ==
              offsetof(shm::BlockHeader, place) - offsetof(shm::BlockHeader, dims));
static_assert(offsetof(BlockShape, level) ==
              offsetof(shm::BlockHeader, level) - offsetof(shm::BlockHeader, dims));
static_assert(offsetof(BlockShape, bytes) ==
              offsetof(shm::BlockHeader, data_bytes) - offsetof(shm::BlockHeader, dims));
static_assert(offsetof(BlockShape, extent) ==
              offsetof(shm::BlockHeader, extent) - offsetof(shm::BlockHeader, dims));
static_assert(offsetof(BlockShape, position) ==
              offsetof(shm::BlockHeader, position) - offsetof(shm::BlockHeader, dims));

inline void BlockShape::write_to(shm::BlockHeader* header) const noexcept {
  char* const to = reinterpret_cast<char*>(header) + offsetof(shm::BlockHeader, dims);
  std::memcpy(to, this, offsetof(BlockShape, position));
  if (place != shm::Place::none)
    std::memcpy(header->position, position.data(), sizeof header->position);
}

}  // namespace leat::client
