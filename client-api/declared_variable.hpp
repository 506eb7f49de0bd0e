// SPDX-License-Identifier: Apache-2.0
// One variable as the XML declares it, and whether a block or an array is what is declared. Reads
// the catalogue only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "client-api/layout_table.hpp"
#include "client-api/packing.hpp"
#include "lib/base/status.hpp"
#include "lib/shm/catalogue.hpp"

namespace leat::client {

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
struct SaidOfBlock {
  bool has_extent = false;
  bool has_position = false;
  std::int32_t level = -1;  ///< of its amr mesh, in which its position is; -1: not said
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

  /// The shape of a block of which the caller has said this. False, with `*error` filled, when
  /// something is missing or does not fit; with column_major it speaks as Fortran does.
  bool fill(BlockShape* shape, const LayoutShape& layout, const SaidOfBlock& said,
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
  bool fill_extent(BlockShape* shape, const LayoutShape& layout, const SaidOfBlock& said,
                   bool column_major, Error* error) const;
  bool fill_place(BlockShape* shape, const LayoutShape& layout, const SaidOfBlock& said,
                  bool column_major, Error* error) const;
  bool fill_level(BlockShape* shape, const SaidOfBlock& said, const shm::MeshRecord& mesh,
                  Error* error) const;
  bool fill_position(BlockShape* shape, const LayoutShape& layout, const SaidOfBlock& said,
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
