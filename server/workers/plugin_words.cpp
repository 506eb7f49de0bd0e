// SPDX-License-Identifier: Apache-2.0
#include "server/workers/plugin_words.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "server/workers/frames.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

struct BlockRecord {
  std::uint32_t variable, block;
  std::int32_t rank, has_position, has_level, level;
  std::uint32_t has_checksum, checksum;
  std::uint64_t in_segment, offset,
      bytes;  // the offset counts from there, or from the order's data
  std::array<std::int64_t, kMaxDims> extent, position, global;
};
static_assert(sizeof(BlockRecord) == 32 + 8 * (3 + 3 * kMaxDims),
              "no byte of it is left unwritten");

BlockRecord record_of(const Block& block) {
  return {block.variable,
          block.block,
          block.rank,
          block.has_position,
          block.level.has_value(),
          block.level.value_or(0),
          block.checksum.has_value(),
          block.checksum.value_or(0),
          0,
          0,
          block.bytes,
          block.extent,
          block.position,
          block.global};
}

Block block_in(const BlockRecord& record, const char* start) {
  Block block;
  block.variable = record.variable;
  block.block = record.block;
  block.rank = record.rank;
  block.has_position = record.has_position != 0;
  if (record.has_level) block.level = record.level;
  if (record.has_checksum) block.checksum = record.checksum;
  block.data = start + record.offset;
  block.bytes = record.bytes;
  block.extent = record.extent;
  block.position = record.position;
  block.global = record.global;
  return block;
}

// What was spilled is read back elsewhere. Returns where it is now.
std::uint64_t put_behind(const Block& block, std::string* data) {
  data->resize((data->size() + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment);
  const std::uint64_t offset = data->size();
  data->append(static_cast<const char*>(block.data), block.bytes);
  return offset;
}

void add_blocks(const std::vector<const Block*>& blocks, std::span<const char> segment,
                std::string* data) {
  std::vector<BlockRecord> records;
  data->resize(blocks.size() * sizeof(BlockRecord));
  for (const Block* block : blocks) {
    BlockRecord record = record_of(*block);
    const auto at = reinterpret_cast<std::uintptr_t>(block->data),
               start = reinterpret_cast<std::uintptr_t>(segment.data());
    record.in_segment = at >= start && at - start < segment.size();
    record.offset = record.in_segment ? at - start : put_behind(*block, data);
    records.push_back(record);
  }
  if (!records.empty())
    std::memcpy(data->data(), records.data(), records.size() * sizeof(BlockRecord));
}

// Bit for bit, and texts in whatever encoding.
json parameters_to_json(const std::vector<ParameterValue>& parameters, std::string* data) {
  json all = json::array();
  for (const ParameterValue& value : parameters) {
    json& told = all.emplace_back(json::object());
    if (const auto* integer = std::get_if<std::int64_t>(&value)) told["integer"] = *integer;
    if (const auto* real = std::get_if<double>(&value))
      told["real"] = std::bit_cast<std::int64_t>(*real);
    if (const auto* text = std::get_if<std::string>(&value)) {
      told["text"] = data->size();
      told["bytes"] = text->size();
      data->append(*text);
    }
  }
  return all;
}

std::vector<ParameterValue> parameters_from_json(const Frame& order) {
  std::vector<ParameterValue> all;
  for (const json& told : order.head.at("parameters")) {
    ParameterValue& value = all.emplace_back();
    if (told.contains("integer")) value = told["integer"].get<std::int64_t>();
    if (told.contains("real")) value = std::bit_cast<double>(told["real"].get<std::int64_t>());
    if (told.contains("text"))
      value = order.data.substr(told["text"].get<std::size_t>(), told["bytes"].get<std::size_t>());
  }
  return all;
}

}  // namespace

Frame iteration_order(const Iteration& iteration, std::size_t waiting,
                      const std::function<bool(std::uint32_t variable)>& takes,
                      std::span<const char> segment) {
  std::vector<const Block*> blocks;
  for (const Block& block : iteration.blocks) {
    if (takes(block.variable)) blocks.push_back(&block);
  }
  Frame order;
  add_blocks(blocks, segment, &order.data);
  order.head = {{"kind", "iteration"},
                {"iteration", iteration.number},
                {"complete", iteration.complete},
                {"waiting", waiting},
                {"blocks", blocks.size()},
                {"parameters", parameters_to_json(iteration.parameters, &order.data)},
                {"signals", iteration.signals}};
  return order;
}

Iteration iteration_in(const Frame& order, const char* segment_start) {
  Iteration iteration;
  iteration.number = order.head.at("iteration");
  iteration.complete = order.head.at("complete");
  const std::size_t blocks = order.head.at("blocks");
  for (std::size_t i = 0; i < blocks; ++i) {
    BlockRecord record;
    std::memcpy(&record, order.data.data() + i * sizeof record, sizeof record);
    iteration.blocks.push_back(
        block_in(record, record.in_segment ? segment_start : order.data.data()));
  }
  iteration.parameters = parameters_from_json(order);
  order.head.at("signals").get_to(iteration.signals);
  return iteration;
}

Frame products_order(const Publication& publication, const std::vector<const Product*>& wanted) {
  Frame order;
  json told = json::array();
  for (const Product* product : wanted) add_product(*product, product->name, 0, &told, &order.data);
  order.head = {{"kind", "products"},
                {"source", publication.source},
                {"by_plugin", publication.kind == Publication::Source::plugin},
                {"iteration", publication.iteration},
                {"arrays", std::move(told)}};
  return order;
}

Publication publication_in(const Frame& order) {
  const auto kind = order.head.at("by_plugin").get<bool>() ? Publication::Source::plugin
                                                           : Publication::Source::script;
  return {kind, order.head.at("source"), order.head.at("iteration"),
          products_in(order.head, order.data)};
}

}  // namespace leat::server
