// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/catalogue.hpp"

namespace leat::shm {
namespace {

template <class T>
std::span<const T> table(const Segment& segment, std::uint64_t offset, std::uint32_t count) {
  const std::uint64_t size = segment.header().segment_bytes;
  if (offset > size || count > (size - offset) / sizeof(T)) return {};
  return {segment.at<const T>(offset), count};
}

template <class T>
std::span<const T> part(std::span<const T> all, std::uint32_t first, std::uint32_t count) {
  if (first > all.size() || count > all.size() - first) return {};
  return all.subspan(first, count);
}

}  // namespace

Catalogue::Catalogue(const Segment& segment) noexcept {
  const CatalogueHeader& h = *segment.at<CatalogueHeader>(segment.header().catalogue_offset);
  parameters_ = table<ParameterRecord>(segment, h.parameters, h.parameter_count);
  layouts_ = table<LayoutRecord>(segment, h.layouts, h.layout_count);
  dimensions_ = table<DimensionRecord>(segment, h.dimensions, h.dimension_count);
  variables_ = table<VariableRecord>(segment, h.variables, h.variable_count);
  meshes_ = table<MeshRecord>(segment, h.meshes, h.mesh_count);
  signals_ = table<SignalRecord>(segment, h.signals, h.signal_count);
  ops_ = table<ExpressionOp>(segment, h.ops, h.op_count);
  text_ = table<char>(segment, h.text, h.text_bytes);
}

std::string_view Catalogue::text(TextRef ref) const noexcept {
  const std::span<const char> chars = part(text_, ref.offset, ref.bytes);
  return {chars.data(), chars.size()};
}

std::span<const ExpressionOp> Catalogue::program(ProgramRef ref) const noexcept {
  return part(ops_, ref.first, ref.count);
}

std::span<const DimensionRecord> Catalogue::dimensions_of(
    const LayoutRecord& layout) const noexcept {
  return part(dimensions_, layout.first_dimension, layout.dims);
}

const MeshRecord* Catalogue::amr_mesh_of(const VariableRecord& variable) const noexcept {
  if (variable.mesh >= meshes_.size()) return nullptr;
  const MeshRecord& mesh = meshes_[variable.mesh];
  return mesh.is_amr != 0 ? &mesh : nullptr;
}

}  // namespace leat::shm
