// SPDX-License-Identifier: Apache-2.0
#include "server/workers/python/module_plan.hpp"

#include <functional>
#include <set>
#include <utility>

#include "lib/model/checks.hpp"
#include "lib/os/user_file.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

// A plan may be written by hand: get_to() throws what is said to the user.
template <class T>
void read(const json& from, const char* key, T* to) {
  if (const auto found = from.find(key); found != from.end()) found->get_to(*to);
}

PortFilter filter_of(const json& told) {
  PortFilter filter;
  read(told, "every", &filter.every);
  read(told, "offset", &filter.offset);
  read(told, "rate", &filter.rate);
  read(told, "sample", &filter.sample);
  read(told, "when", &filter.when);
  if (filter.every < 1 || filter.offset < 0 || filter.rate < 0 || filter.sample < 0)
    throw std::invalid_argument("every, offset, rate and sample are numbers above 0");
  return filter;
}

ModuleInput input_of(const json& told) {
  ModuleInput input;
  input.port = told.at("port");
  read(told, "variable", &input.variable);
  read(told, "sources", &input.sources);
  read(told, "any", &input.any);
  read(told, "greedy", &input.greedy);
  read(told, "tokens", &input.tokens);
  read(told, "depth", &input.depth);
  if (const auto share = told.find("share"); share != told.end() && share->at("how") == "blocks") {
    share->at("share").get_to(input.share);
    share->at("shares").get_to(input.shares);
    if (input.share < 0 || input.share >= input.shares)
      throw std::invalid_argument("port \"" + input.port + "\" has share " +
                                  std::to_string(input.share) + " of " +
                                  std::to_string(input.shares));
  }
  if (input.variable.empty() == input.sources.empty())
    throw std::invalid_argument("port \"" + input.port + "\" has either a variable or sources");
  input.filter = filter_of(told);
  return input;
}

// What comes at the second one, or is put there, would be nobody's.
void refuse_double_ports(const ModulePlan& plan) {
  std::set<std::string> inputs, outputs;
  const auto refuse = [&](const char* kind, const std::string& port) {
    throw std::invalid_argument("module \"" + plan.name + "\" has two " + kind + " \"" + port +
                                "\"");
  };
  for (const ModuleInput& each : plan.inputs)
    if (!inputs.insert(each.port).second) refuse("inputs", each.port);
  for (const std::string& each : plan.outputs)
    if (!outputs.insert(each).second) refuse("outputs", each);
}

// It is the name of a file, too.
std::string host_in(const std::string& place) {
  constexpr const char* kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  if (!place.starts_with("host:")) return "";
  const std::string name = place.substr(5);
  if (name.empty() || name.size() > 64 || name.find_first_not_of(kLetters) != std::string::npos)
    throw std::invalid_argument("place \"" + place +
                                "\": a host has a name of letters, digits, \"_\" and \"-\"");
  return name;
}

std::shared_ptr<const ModulePlan> module_of(const json& told) {
  const auto plan = std::make_shared<ModulePlan>();
  plan->name = told.at("name");
  told.at("run").get_to(plan->command);
  if (const std::string why = model::why_no_product_name(plan->name); !why.empty())
    throw std::invalid_argument("module \"" + plan->name + "\": " + why);
  if (plan->command.empty())
    throw std::invalid_argument("module \"" + plan->name + "\" has no program to run");
  read(told, "timeout", &plan->timeout_seconds);
  read(told, "latest", &plan->latest);
  read(told, "idle", &plan->idle);
  const std::string place = told.value("place", "node");
  plan->on_staging = place == "staging";
  plan->harvest = place == "harvest";
  plan->host = host_in(place);
  for (const json& each : told.value("inputs", json::array()))
    plan->inputs.push_back(input_of(each));
  for (const json& each : told.value("outputs", json::array()))
    plan->outputs.push_back(each.at("port"));
  refuse_double_ports(*plan);
  plan->stamp = std::hash<std::string>()(told.dump());
  plan->told = told;
  return plan;
}

}  // namespace

Result<GraphPlan> graph_of(const std::string& text) {
  const json told = json::parse(text, nullptr, false);
  if (!told.is_object() || !told.contains("leat_graph"))
    return Error{Status::ERROR_SYSTEM, "it is no graph that `leat graph` has written"};
  GraphPlan plan;
  std::set<std::string> names;
  try {
    if (const std::int64_t version = told["leat_graph"]; version != kGraphVersion)
      return Error{Status::ERROR_SYSTEM, "it is of version " + std::to_string(version) +
                                             ", and this Leat knows version " +
                                             std::to_string(kGraphVersion) +
                                             ": write it again with its own `leat graph`"};
    const json& modules = told.at("modules");
    if (!modules.is_array()) throw std::invalid_argument("its \"modules\" are no list");
    for (const json& each : modules) {
      plan.modules.push_back(module_of(each));
      if (!names.insert(plan.modules.back()->name).second)
        throw std::invalid_argument("there are two modules \"" + plan.modules.back()->name + "\"");
    }
  } catch (const std::exception& e) {  // of json, too
    return Error{Status::ERROR_SYSTEM, e.what()};
  }
  return plan;
}

Result<GraphPlan> GraphPlans::read(const std::string& path, std::uint64_t stamp) {
  Read& read = all_[path];
  if (read.stamp == stamp) return read.plan;
  const Result<std::string> text = os::text_of_file(path);
  if (!text) return text.error();
  Result<GraphPlan> plan = graph_of(*text);
  if (plan) read = {stamp, *plan};
  return plan;
}

std::string source_of(const std::string& product) { return product.substr(0, product.find('/')); }

}  // namespace leat::server
