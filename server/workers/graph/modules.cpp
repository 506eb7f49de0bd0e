// SPDX-License-Identifier: Apache-2.0
#include "server/workers/graph/modules.hpp"

#include <algorithm>
#include <utility>

#include "lib/os/cores.hpp"
#include "lib/os/process.hpp"
#include "server/workers/python/script_files.hpp"
#include "server/workers/script_task.hpp"

namespace leat::server::modules {
namespace {

using nlohmann::json;

bool is_at_work(const ScriptBoard& board, const Script& script, std::int64_t first,
                std::int64_t last) {
  return std::any_of(board.seats.begin(), board.seats.end(), [&](const auto& seat) {
    return seat->running == &script && seat->running_iteration >= first &&
           seat->running_iteration <= last;
  });
}

bool may_come(const ScriptBoard& board, const std::string& source, std::int64_t first,
              std::int64_t last) {
  for (const Script& script : board.scripts) {
    if (script.file.name != source || script.removed) continue;
    if (script.waits_for(first, last) || is_at_work(board, script, first, last)) return true;
  }
  return false;
}

}  // namespace

void give(ScriptBoard& board, const Publication& publication) {
  for (Script& script : board.scripts)
    if (script.inputs) script.inputs->take(publication);
}

void settle(ScriptBoard& board) {
  const auto asked = [&board](const std::string& source, std::int64_t first, std::int64_t last) {
    return may_come(board, source, first, last);
  };
  bool changed = true;
  while (std::exchange(changed, false)) {
    for (Script& script : board.scripts) {
      if (!script.inputs) continue;
      while (std::optional<ScriptJob> job = script.inputs->take_ready(asked))
        script.add(std::move(*job));
      const std::uint64_t given_up = script.inputs->take_given_up();
      script.counts.skipped += given_up;
      changed = changed || given_up > 0;  // nor will what others wait for
    }
  }
}

bool have_room_behind(const ScriptBoard& board, const Script& script) {
  return std::none_of(board.scripts.begin(), board.scripts.end(), [&](const Script& other) {
    const bool counts = other.inputs && other.usable && !other.removed && other.waits();
    const std::int64_t depth = counts ? other.inputs->depth_of(script.file.name) : 0;
    return depth > 0 && other.waiting.size() + other.inputs->waiting_of(script.file.name) >=
                            static_cast<std::size_t>(depth);
  });
}

void prepare(const ModulePlan& plan, int outputs, const WorkerPlan& of_scripts, WorkerPlan* own) {
  *own = of_scripts;
  own->command = plan.command;
  if (const std::string found = os::find_program(plan.command[0]); !found.empty())
    own->command[0] = found;
  own->setup = std::make_shared<json>(*of_scripts.setup);
  (*own->setup)["module"] = plan.told;
  own->idle = own->idle || plan.idle || plan.harvest;
  if (own->idle) own->cores = os::allowed_cpus().count();
  own->outputs_fd = outputs;
  own->variables = {"LEAT_MODULE=" + plan.name, variable_of_python()};
  own->not_started = " is no module: it has never called leat_wait()";
}

json functions_of(const ModulePlan& plan) {
  json takes = json::array();
  for (const ModuleInput& input : plan.inputs)
    for (const std::string& each : input.sources)
      if (input.tokens == 0 && !input.greedy) takes.push_back(each);  // these may close a loop
  return {{{"name", "turn"},
           {"every", 1},
           {"variables", json::array()},
           {"products", takes},
           {"publishes", plan.outputs}}};
}

namespace {

json part_of(const Block& block, const model::Model& model, const char* segment_start) {
  const model::Variable& variable = model.variables[block.variable];
  const model::Layout& layout = model.layouts[variable.layout];
  const std::size_t dims = layout.dimensions.size();
  const bool is_constant = !variable.time_varying;
  const auto shape = [dims](const std::array<std::int64_t, kMaxDims>& of) {
    return std::vector<std::int64_t>(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(dims));
  };
  const char* const start = block.shared ? block.shared->start : segment_start;
  const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(block.data) - start);
  json part{{"memory", is_constant    ? "constants"
                       : block.shared ? block.shared->path
                                      : "segment"},
            {"offset", is_constant ? block.lease : offset},
            {"bytes", block.bytes},
            {"type", scalar_name(layout.type)},
            {"unit", variable.unit},
            {"rank", block.rank},
            {"block", block.block},
            {"extents", shape(block.extent)}};
  if (block.has_position || block.level) part["position"] = shape(block.position);
  if (block.has_position && layout.has_global) part["global"] = shape(block.global);
  if (block.level) part["level"] = *block.level;
  for (const char* list : {"dimensions", "ghosts_before", "ghosts_after"})
    part[list] = json::array();
  for (const model::Dimension& each : layout.dimensions) {
    part["dimensions"].push_back(each.name);
    part["ghosts_before"].push_back(each.ghost_low);
    part["ghosts_after"].push_back(each.ghost_high);
  }
  return part;
}

void add_variable(const ModuleInput& input, const ScriptJob& job,
                  const std::vector<Block>& constants, const char* segment_start,
                  const model::Model& model, json* parts) {
  std::vector<const Block*> blocks;
  for (const std::vector<Block>* all : {&job.iteration->blocks, &constants}) {
    for (const Block& block : *all) {
      const model::Variable& variable = model.variables[block.variable];
      if (variable.name == input.variable && variable.time_varying == (all != &constants))
        blocks.push_back(&block);
    }
  }
  std::sort(blocks.begin(), blocks.end(), [](const Block* a, const Block* b) {
    return std::pair(a->rank, a->block) < std::pair(b->rank, b->block);
  });
  for (std::size_t i = static_cast<std::size_t>(input.share); i < blocks.size();
       i += static_cast<std::size_t>(input.shares))
    parts->push_back(part_of(*blocks[i], model, segment_start));
}

// In memory that others see, or behind the order.
void add_products(const Publication& publication, const std::string& wanted, json* parts,
                  std::string* data) {
  for (const Product* product : wanted_of(publication, {wanted})) {
    if (publication.file) {
      const auto* const bytes = static_cast<const char*>(product->data);
      parts->push_back(described(*product, product->name,
                                 static_cast<std::size_t>(bytes - publication.file->start)));
    } else {
      add_product(*product, product->name, 0, parts, data);
    }
    json& part = parts->back();
    part["memory"] = publication.file ? publication.file->path : "order";
    part["source"] = publication.source;
    part["iteration"] = publication.iteration;
    if (!product->stamps.empty()) part["stamps"] = product->stamps;
  }
}

}  // namespace

Frame order_of(const ScriptJob& job, const std::vector<Block>& constants, const char* segment_start,
               const model::Model& model, const std::vector<std::uint64_t>& released) {
  Frame frame;
  json ports = json::array();
  for (std::size_t i = 0; i < job.module->inputs.size(); ++i) {
    const ModuleInput& input = job.module->inputs[i];
    json parts = json::array();
    if (!input.variable.empty()) add_variable(input, job, constants, segment_start, model, &parts);
    for (const std::string& source : input.sources)
      for (const Publication& each : job.inputs[i]) add_products(each, source, &parts, &frame.data);
    ports.push_back({{"port", input.port}, {"parts", std::move(parts)}});
  }
  frame.head = {{"kind", "turn"},
                {"iteration", job.iteration->number},
                {"complete", job.iteration->complete},
                {"parameters", parameters_as_json(*job.iteration, model)},
                {"released", released},
                {"ports", std::move(ports)}};
  return frame;
}

Publication publication_of(const Frame& message, const std::shared_ptr<OutputMemory>& memory) {
  Publication made;
  made.file = memory;
  auto holds = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  for (const json& told : member_of(message.head, "arrays")) {
    const std::int64_t offset = integer_of(member_of(told, "offset")).value_or(-1);
    const std::int64_t bytes = integer_of(member_of(told, "bytes")).value_or(-1);
    const void* const data = offset < 0 || bytes < 0
                                 ? nullptr
                                 : memory->file().at(static_cast<std::uint64_t>(offset),
                                                     static_cast<std::uint64_t>(bytes));
    if (!data) continue;
    json here = told;
    here["offset"] = 0;
    const std::string_view view(static_cast<const char*>(data), static_cast<std::size_t>(bytes));
    for (Product& product : products_in({{"arrays", {here}}}, view))
      made.products.push_back(std::move(product));
    holds->push_back(memory->hold(static_cast<std::uint64_t>(offset)));
  }
  made.memory = holds;
  return made;
}

}  // namespace leat::server::modules
