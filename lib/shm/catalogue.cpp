// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/catalogue.hpp"

#include <cstring>

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
  restart_ = table<RestartRecord>(segment, h.restart, 1);
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

namespace {

void put(std::string* bytes, std::uint64_t number) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put(std::string* bytes, std::string_view text) {
  put(bytes, std::uint64_t{text.size()});
  bytes->append(text);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (left_.size() < sizeof value) return fail();
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > left_.size()) fail();
    if (failed_) return "";
    std::string found(left_.substr(0, size));
    left_.remove_prefix(size);
    return found;
  }
  bool failed() const noexcept { return failed_; }

 private:
  std::uint64_t fail() noexcept {
    failed_ = true;
    left_ = {};
    return 0;
  }

  std::string_view left_;
  bool failed_ = false;
};

}  // namespace

std::string encode(const RunText& run) {
  std::string bytes;
  put(&bytes, run.session);
  put(&bytes, run.folder);
  put(&bytes, static_cast<std::uint64_t>(run.ranks));
  for (const std::int32_t each : {run.node_ranks, run.server, run.servers})
    put(&bytes, static_cast<std::uint64_t>(each));
  put(&bytes, std::uint64_t{run.sources.size()});
  for (const auto& [path, text] : run.sources) {
    put(&bytes, path);
    put(&bytes, text);
  }
  put(&bytes, std::uint64_t{run.environment.size()});
  for (const std::string& each : run.environment) put(&bytes, each);
  return bytes;
}

std::optional<RunText> decode_run_text(std::string_view bytes) {
  Reader reader(bytes);
  RunText run;
  run.session = reader.text();
  run.folder = reader.text();
  run.ranks = static_cast<std::int32_t>(reader.number());
  for (std::int32_t* each : {&run.node_ranks, &run.server, &run.servers})
    *each = static_cast<std::int32_t>(reader.number());
  for (std::uint64_t left = reader.number(); left > 0 && !reader.failed(); --left) {
    std::string path = reader.text();
    run.sources.emplace_back(std::move(path), reader.text());
  }
  for (std::uint64_t left = reader.number(); left > 0 && !reader.failed(); --left)
    run.environment.push_back(reader.text());
  const bool good = !reader.failed() && !run.sources.empty() && run.ranks > 0 && run.server >= 0 &&
                    run.server < run.servers && run.servers <= run.node_ranks;
  return good ? std::optional(std::move(run)) : std::nullopt;
}

}  // namespace leat::shm
