// SPDX-License-Identifier: Apache-2.0
// What a client must know of the XML, read from the segment.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lib/shm/layout.hpp"
#include "lib/shm/segment.hpp"

namespace leat::shm {

/// A view; valid as long as the segment is mapped. References that point outside of it read as empty.
class Catalogue {
 public:
  explicit Catalogue(const Segment& segment) noexcept;

  std::span<const ParameterRecord> parameters() const noexcept { return parameters_; }
  std::span<const LayoutRecord> layouts() const noexcept { return layouts_; }
  std::span<const VariableRecord> variables() const noexcept { return variables_; }
  std::span<const MeshRecord> meshes() const noexcept { return meshes_; }
  std::span<const SignalRecord> signals() const noexcept { return signals_; }

  std::string_view text(TextRef ref) const noexcept;
  std::span<const ExpressionOp> program(ProgramRef ref) const noexcept;
  std::span<const DimensionRecord> dimensions_of(const LayoutRecord& layout) const noexcept;
  /// The amr mesh that the variable lies on, or null.
  const MeshRecord* amr_mesh_of(const VariableRecord& variable) const noexcept;

 private:
  std::span<const ParameterRecord> parameters_;
  std::span<const LayoutRecord> layouts_;
  std::span<const DimensionRecord> dimensions_;
  std::span<const VariableRecord> variables_;
  std::span<const MeshRecord> meshes_;
  std::span<const SignalRecord> signals_;
  std::span<const ExpressionOp> ops_;
  std::span<const char> text_;
};

}  // namespace leat::shm
