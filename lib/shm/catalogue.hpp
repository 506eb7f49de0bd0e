// SPDX-License-Identifier: Apache-2.0
// What a segment holds of its run: the catalogue that clients read, and the text it was started with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/shm/layout.hpp"
#include "lib/shm/segment.hpp"

namespace leat::shm {

// What a client must know of the XML, read from the segment.

/// A view; valid as long as the segment is mapped. References that point outside of it read as empty.
class Catalogue {
 public:
  explicit Catalogue(const Segment& segment) noexcept;

  std::span<const ParameterRecord> parameters() const noexcept { return parameters_; }
  std::span<const LayoutRecord> layouts() const noexcept { return layouts_; }
  std::span<const VariableRecord> variables() const noexcept { return variables_; }
  std::span<const MeshRecord> meshes() const noexcept { return meshes_; }
  std::span<const SignalRecord> signals() const noexcept { return signals_; }
  /// One.
  std::span<const RestartRecord> restart() const noexcept { return restart_; }

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
  std::span<const RestartRecord> restart_;
  std::span<const ExpressionOp> ops_;
  std::span<const char> text_;
};

// What a run was started with, kept in its segment: enough to finish it when all of its processes
// are dead, whatever has become of its XML meanwhile. Written once, before the first client
// attaches.
struct RunText {
  std::string session;
  std::string folder;  ///< absolute; the one that the server works in
  std::int32_t ranks = 1, node_ranks = 1;
  std::int32_t server = 0, servers = 1;  ///< of the node; they divide its ranks
  /// Path and text of the XML, then of each file that it includes; paths count from `folder`.
  std::vector<std::pair<std::string, std::string>> sources;
  /// Of the server: "NAME=value". The XML may refer to it, and so does the runtime folder.
  std::vector<std::string> environment;
};

std::string encode(const RunText& run);
/// Empty when that is no such text.
std::optional<RunText> decode_run_text(std::string_view bytes);

}  // namespace leat::shm
