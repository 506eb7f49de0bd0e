// SPDX-License-Identifier: Apache-2.0
#include "server/workers/script_task.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/model/mesh_place.hpp"
#include "lib/model/run_description.hpp"
#include "server/workers/frames.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

struct TaskRecord {
  std::int64_t variable, rank, block, has_position, level, memory, offset, bytes;
  std::array<std::int64_t, kMaxDims> extent, position, global;
};
static_assert(sizeof(TaskRecord) == 8 * (8 + 3 * kMaxDims), "as blocks.py reads it");

// Which memory an offset counts from: the segment, what does not vary in time, or the files of the order from this number on.
constexpr std::int64_t kInSegment = 0, kInConstants = 1, kInFirstFile = 2;

void append(std::string* data, const Block& block, std::uint64_t offset, std::int64_t memory) {
  const TaskRecord record{block.variable,
                          block.rank,
                          block.block,
                          block.has_position,
                          block.level.value_or(-1),
                          memory,
                          static_cast<std::int64_t>(offset),
                          static_cast<std::int64_t>(block.bytes),
                          block.extent,
                          block.position,
                          block.global};
  data->append(reinterpret_cast<const char*>(&record), sizeof record);
}

// What the server has made lies in files in memory, of which a script is told the paths.
void append_shared(Frame* frame, const Block& block) {
  json& files = frame->head["files"];
  std::size_t number = 0;
  while (number < files.size() && files[number] != block.shared->path) ++number;
  if (number == files.size()) files.push_back(block.shared->path);
  const auto offset =
      static_cast<std::uint64_t>(static_cast<const char*>(block.data) - block.shared->start);
  append(&frame->data, block, offset, kInFirstFile + static_cast<std::int64_t>(number));
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

json parameters_as_json(const Iteration& iteration, const model::Model& model) {
  json all = json::object();
  for (std::size_t i = 0; i < iteration.parameters.size(); ++i) {
    json value = model::to_json(iteration.parameters[i]);
    // JSON has no word for these; Python's float() reads them.
    if (value.is_number_float() && !std::isfinite(value.get<double>()))
      value = std::to_string(value.get<double>());
    if (!value.is_null()) all[model.parameters[i].name] = std::move(value);
  }
  return all;
}

namespace {

// By number, of those that parameters place: [origin, spacing], null where it is not known.
json places_as_json(const Iteration& iteration, const model::Model& model) {
  json all = json::object();
  for (std::size_t i = 0; i < model.meshes.size(); ++i) {
    if (!model::is_placed_by_parameters(model.meshes[i])) continue;
    const model::MeshPlace place = model::place_of(model, model.meshes[i], iteration.parameters);
    all[std::to_string(i)] = place.problem.empty() ? json{place.origin, place.spacing} : json();
  }
  return all;
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
                {"signals", iteration.signals},
                {"parameters", parameters_as_json(iteration, model)},
                {"places", places_as_json(iteration, model)},
                {"files", json::array()}};
  frame.data.reserve((iteration.blocks.size() + constants.size()) * sizeof(TaskRecord));
  for (const Block& block : iteration.blocks) {
    if (!model.variables[block.variable].time_varying) continue;
    if (block.shared) {
      append_shared(&frame, block);
      continue;
    }
    const char* data = static_cast<const char*>(block.data);
    append(&frame.data, block, static_cast<std::uint64_t>(data - segment_start), kInSegment);
  }
  for (const Block& block : constants) append(&frame.data, block, block.lease, kInConstants);
  append_products(&frame, job.published);
  return frame;
}

namespace {

using nlohmann::json;

// Only those that may be one.
std::vector<std::uint32_t> indices_in(const json& list) {
  std::vector<std::uint32_t> indices;
  if (!list.is_array()) return indices;
  for (const json& each : list) {
    const std::int64_t index = integer_of(each).value_or(-1);
    if (index >= 0 && index <= std::numeric_limits<std::uint32_t>::max())
      indices.push_back(static_cast<std::uint32_t>(index));
  }
  return indices;
}

std::vector<std::string> texts_in(const json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const json& each : list) {
    if (each.is_string()) texts.push_back(each.get<std::string>());
  }
  return texts;
}

ScriptFunction function_of(const json& told) {
  ScriptFunction function;
  function.name = text_in(told, "name");
  function.every = std::max<std::int64_t>(1, integer_of(member_of(told, "every")).value_or(1));
  function.products = texts_in(member_of(told, "products"));
  function.publishes = texts_in(member_of(told, "publishes"));
  function.events = indices_in(member_of(told, "events"));
  function.is_of_run = text_in(told, "scope") == "run";
  const json& variables = member_of(told, "variables");
  function.all_variables = !variables.is_array();
  if (function.all_variables) return function;
  function.variables = indices_in(variables);
  function.beside = indices_in(member_of(told, "beside"));
  return function;
}

}  // namespace

std::vector<ScriptFunction> functions_in(const json& head) {
  std::vector<ScriptFunction> functions;
  const json& told = member_of(head, "functions");
  if (!told.is_array()) return functions;
  for (const json& each : told) functions.push_back(function_of(each));
  return functions;
}

Steering::Value value_in(const json& head) {
  const json& value = member_of(head, "value");
  if (const std::optional<std::int64_t> integer = integer_of(value)) return *integer;
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

namespace {

// Different failures of a script that the log tells of at once, at most; others come each time.
constexpr std::size_t kMostTold = 64;

// <output>/<script>.log. Returns its path; "" when there is nothing to be noted, or no way to.
std::string write_to_own_log(const ScriptOutput& output, const Script& script,
                             const std::string& when, const std::string& text) {
  if (text.empty()) return "";
  const std::string name = script.file.name + ".log";
  const std::string why = output.append(name, script.title() + when + ":\n" + text + "\n\n");
  return why.empty() ? output.path() + "/" + name : "";
}

}  // namespace

ScriptFailure failure_in(const nlohmann::json& head) {
  if (std::string missed = text_in(head, "missed"); !missed.empty())
    return {std::move(missed), "", true};
  return {text_in(head, "error"), text_in(head, "whole")};
}

std::string brief(const std::string& text) {
  static constexpr std::string_view kHead = "Traceback (most recent call last):\n";
  const std::size_t head = text.rfind(kHead);  // of an exception that comes of another one
  std::size_t begin =
      text.starts_with("Traceback") && head != std::string::npos ? head + kHead.size() : 0;
  const auto end = [&] { return std::min(text.find('\n', begin), text.size()); };
  while (begin < text.size() && text[begin] == ' ') begin = end() + 1;  // frames, and their code
  return begin < text.size() ? text.substr(begin, end() - begin) : "";
}

void record_call(ScriptContext& context, Script& script, std::int64_t iteration,
                 const ScriptFailure& failure) {
  std::string stopped;
  {
    const std::lock_guard<std::mutex> lock(context.board.mutex);
    script.counts.away = failure.missed ? failure.text : "";
    if (failure.missed) {
      ++script.counts.skipped;
      return;
    }
    ++script.counts.calls;
    if (failure.text.empty()) {
      script.failures_in_a_row = 0;
      return;
    }
    script.record_failure(brief(failure.text));
    if (++script.failures_in_a_row >= script.source->failures) {
      script.give_up();
      stopped =
          fmt::format("\nThat was failure {} in a row: it is not called any more. {} to try again.",
                      script.failures_in_a_row,
                      script.inputs ? "Change its part of the plan" : "Edit the file");
    }
  }
  tell(context, script, fmt::format(", iteration {}", iteration), failure, stopped);
}

void tell(ScriptContext& context, Script& script, const std::string& when,
          const ScriptFailure& failure, const std::string& then) {
  std::uint64_t times = 1;
  {
    const std::lock_guard<std::mutex> lock(context.board.mutex);
    auto& told = script.counts.told;
    if (told.size() < kMostTold || told.count(failure.text)) times = ++told[failure.text];
  }
  if (times == 1) {
    const std::string path = write_to_own_log(context.output, script, when, failure.whole);
    context.log->error("{}{}: {}{}{}", script.title(), when, failure.text,
                       path.empty() ? "" : "\nThe whole traceback is in " + path, then);
  } else if (!then.empty()) {
    context.log->error("{}{}: {} (as before, {} times now){}", script.title(), when,
                       brief(failure.text), times, then);
  }
}

}  // namespace leat::server
