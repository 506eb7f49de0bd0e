// SPDX-License-Identifier: Apache-2.0
#include "server/state/clients/block_reader.hpp"

#include <algorithm>
#include <iterator>

namespace leat::server {
namespace {

// Of a run that sets sizes anew in each iteration; far more than there are iterations in flight.
constexpr std::size_t kMostChanges = 4096;

}  // namespace

bool IntegersThen::put(std::uint32_t parameter, std::int64_t value) noexcept {
  if (parameter >= values.size()) return false;
  const bool known = set[parameter] && values[parameter] == value;
  values[parameter] = value;
  set[parameter] = 1;
  return !known;
}

ClientIntegers::ClientIntegers(const std::vector<model::Parameter>& parameters) {
  for (const model::Parameter& each : parameters) {
    base_.values.push_back(as_integer(each.value));
    base_.set.push_back(std::holds_alternative<std::int64_t>(each.value));
  }
  now_ = base_;
}

bool ClientIntegers::set(const Change& change) {
  if (!now_.put(change.parameter, change.value)) return false;
  if (change.event == 0) return base_.put(change.parameter, change.value);
  changes_.push_back(change);
  if (changes_.size() > kMostChanges) {
    const auto kept = changes_.begin() + kMostChanges / 2;
    for (auto each = changes_.begin(); each != kept; ++each)
      base_.put(each->parameter, each->value);
    changes_.erase(changes_.begin(), kept);
  }
  return true;
}

IntegersThen ClientIntegers::at(std::uint64_t event) const {
  IntegersThen then = base_;
  for (const Change& each : changes_) {
    if (each.event < event) then.put(each.parameter, each.value);
  }
  return then;
}

std::vector<ClientIntegers::Change> ClientIntegers::changes() const {
  std::vector<Change> all;
  for (std::uint32_t i = 0; i < base_.values.size(); ++i) {
    if (base_.set[i]) all.push_back({0, i, base_.values[i]});
  }
  all.insert(all.end(), changes_.begin(), changes_.end());
  return all;
}

BlockReader::BlockReader(const shm::Segment& segment, std::uint32_t client,
                         const model::Model& model)
    : segment_(segment), model_(model), client_(client), integers_(model.parameters) {}

bool BlockReader::check_extent(const shm::BlockHeader& header, const model::Layout& layout,
                               std::string* error) const {
  if (header.dims != layout.dimensions.size()) {
    *error = "it has " + std::to_string(header.dims) + " dimensions, its layout has " +
             std::to_string(layout.dimensions.size());
    return false;
  }
  // Extents beside one of 0 are bounded too: what stores compute from them must not overflow.
  std::uint64_t bytes = scalar_bytes(layout.type);
  bool empty = false;
  for (std::uint32_t d = 0; d < header.dims; ++d) {
    const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(1, header.extent[d]));
    empty = empty || header.extent[d] == 0;
    if (header.extent[d] < 0 || __builtin_mul_overflow(bytes, length, &bytes) ||
        bytes > segment_.header().segment_bytes) {
      *error = "its extent in dimension " + std::to_string(d) + " is " +
               std::to_string(header.extent[d]);
      return false;
    }
  }
  if (empty) bytes = 0;
  if (bytes == header.data_bytes) return true;
  *error = "its extents make " + std::to_string(bytes) + " bytes, but it has " +
           std::to_string(header.data_bytes);
  return false;
}

bool BlockReader::fill_place(const ParameterValues& integers, const shm::BlockHeader& header,
                             const model::Layout& layout, Block* block, std::string* error) const {
  const model::Variable& variable = model_.variables[block->variable];
  const model::Mesh* const mesh = variable.mesh ? &model_.meshes[*variable.mesh] : nullptr;
  if (mesh && mesh->kind == model::Mesh::Kind::amr) return fill_level(header, *mesh, block, error);
  block->has_position = layout.has_global;
  return !layout.has_global || fill_global(integers, header, layout, block, error);
}

bool BlockReader::fill_level(const shm::BlockHeader& header, const model::Mesh& mesh, Block* block,
                             std::string* error) const {
  if (header.place != static_cast<std::uint16_t>(shm::Place::in_level)) {
    *error = "it has no level of its mesh \"" + mesh.name + "\"";
    return false;
  }
  if (header.level >= (mesh.levels > 0 ? mesh.levels : kMaxLevels)) {
    *error = "its level " + std::to_string(header.level) + " is beyond those of its mesh \"" +
             mesh.name + "\"";
    return false;
  }
  for (std::uint32_t d = 0; d < header.dims; ++d) {
    if (header.position[d] < -shm::kFurthest || header.position[d] > shm::kFurthest) {
      *error = "its position in dimension " + std::to_string(d) + " is " +
               std::to_string(header.position[d]);
      return false;
    }
    block->position[d] = header.position[d];
  }
  block->level = header.level;
  return true;
}

bool BlockReader::fill_global(const ParameterValues& integers, const shm::BlockHeader& header,
                              const model::Layout& layout, Block* block, std::string* error) const {
  bool empty = false, inside = header.place == static_cast<std::uint16_t>(shm::Place::in_global);
  for (std::uint32_t d = 0; d < header.dims; ++d) {
    const model::Dimension& dimension = layout.dimensions[d];
    const auto& program = dimension.global.program;
    const ExpressionValue global = evaluate(program.data(), program.size(), integers);
    if (global.fault != ExpressionFault::none || global.value < 0) {
      *error = "its global extent \"" + dimension.global.text + "\" has no value";
      return false;
    }
    const std::int64_t own = header.extent[d] - dimension.ghost_low - dimension.ghost_high;
    empty = empty || own <= 0;
    inside = inside && header.position[d] >= 0 && own <= global.value &&
             header.position[d] <= global.value - own;
    block->global[d] = global.value;
    block->position[d] = header.position[d];
  }
  if (empty) block->position = {};
  if (empty || inside) return true;
  *error = "it does not lie inside the global array";
  return false;
}

std::optional<Block> BlockReader::read(const shm::Event& event, std::int32_t rank,
                                       std::string* error) const {
  return read_with(integers_.now(), event, rank, error);
}

std::optional<Block> BlockReader::read_found(const shm::Event& event, std::int32_t rank,
                                             std::string* error) const {
  const shm::BlockHeader header = *segment_.at<shm::BlockHeader>(event.offset);
  return read_with(integers_.at(header.event).view(), event, rank, error);
}

std::optional<Block> BlockReader::read_with(const ParameterValues& integers,
                                            const shm::Event& event, std::int32_t rank,
                                            std::string* error) const {
  // Copied once, then only the copy is looked at: the client could still write to the original.
  const shm::BlockHeader header = *segment_.at<shm::BlockHeader>(event.offset);
  if (event.subject >= model_.variables.size() || header.variable != event.subject ||
      header.block != event.block || header.iteration != event.iteration ||
      event.bytes != sizeof header + header.data_bytes) {
    *error = "its header differs from its event";
    return std::nullopt;
  }
  if (model_.variables[event.subject].derived) {
    *error = "the server makes this variable itself";
    return std::nullopt;
  }
  const model::Layout& layout = model_.layouts[model_.variables[event.subject].layout];
  Block block;
  block.client = client_;
  block.rank = rank;
  block.variable = event.subject;
  block.block = event.block;
  std::copy(std::begin(header.extent), std::end(header.extent), block.extent.begin());
  block.data = segment_.at<char>(event.offset + sizeof header);
  block.bytes = header.data_bytes;
  if (model_.architecture.checksum == model::Checksum::crc32c) {
    block.checksum = header.checksum;
    if (header.has_checksum == 0) {
      *error = "it has no checksum";
      return std::nullopt;
    }
  }
  if (!check_extent(header, layout, error) ||
      !fill_place(integers, header, layout, &block, error)) {
    return std::nullopt;
  }
  return block;
}

}  // namespace leat::server
