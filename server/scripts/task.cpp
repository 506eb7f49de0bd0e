// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/task.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/model/run_description.hpp"
#include "server/workers/frame.hpp"
#include "server/workers/words.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

struct Record {
  std::int64_t variable, rank, block, has_position, level, in_constants, offset, bytes;
  std::array<std::int64_t, kMaxDims> extent, position, global;
};
static_assert(sizeof(Record) == 8 * (8 + 3 * kMaxDims), "as blocks.py reads it");

void append(std::string* data, const Block& block, std::uint64_t offset, bool in_constants) {
  const Record record{block.variable,
                      block.rank,
                      block.block,
                      block.has_position,
                      block.level.value_or(-1),
                      in_constants,
                      static_cast<std::int64_t>(offset),
                      static_cast<std::int64_t>(block.bytes),
                      block.extent,
                      block.position,
                      block.global};
  data->append(reinterpret_cast<const char*>(&record), sizeof record);
}

json parameters_as_json(const Iteration& iteration, const model::Model& model) {
  json all = json::object();
  for (std::size_t i = 0; i < iteration.parameters.size(); ++i) {
    json value = model::in_words(iteration.parameters[i]);
    // JSON has no word for these; Python's float() reads them.
    if (value.is_number_float() && !std::isfinite(value.get<double>()))
      value = std::to_string(value.get<double>());
    if (!value.is_null()) all[model.parameters[i].name] = std::move(value);
  }
  return all;
}

json signals_as_json(const Iteration& iteration) {
  json all = json::array();
  for (const Signal& each : iteration.signals) all.push_back({each.event, each.rank, each.times});
  return all;
}

// As results come from a worker.
void append_products(Frame* frame, const std::vector<Publication>& published) {
  const std::size_t start = frame->data.size();
  frame->head["data_of_products"] = start;
  json& told = frame->head["products"] = json::array();
  for (const Publication& publication : published) {
    for (const Product& product : publication.products) {
      add_product(product, publication.source + "/" + product.name, start, &told, &frame->data);
    }
  }
}

}  // namespace

Frame run_order(const std::string& script, const ScriptJob& job,
                const std::vector<Block>& constants, const char* segment_start,
                const model::Model& model) {
  const Iteration& iteration = *job.iteration;
  Frame frame;
  frame.head = {{"kind", "run"},
                {"script", script},
                {"iteration", iteration.number},
                {"complete", iteration.complete},
                {"signals", signals_as_json(iteration)},
                {"parameters", parameters_as_json(iteration, model)}};
  frame.data.reserve((iteration.blocks.size() + constants.size()) * sizeof(Record));
  for (const Block& block : iteration.blocks) {
    if (!model.variables[block.variable].time_varying) continue;
    const char* data = static_cast<const char*>(block.data);
    append(&frame.data, block, static_cast<std::uint64_t>(data - segment_start), false);
  }
  for (const Block& block : constants) append(&frame.data, block, block.lease, true);
  append_products(&frame, job.published);
  return frame;
}

}  // namespace leat::server
