// SPDX-License-Identifier: Apache-2.0
#include "lib/control/machine_file.hpp"

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/model/xml/tree.hpp"
#include "lib/os/numa_binding.hpp"
#include "lib/os/process.hpp"

namespace leat::server {
namespace {

using Json = nlohmann::ordered_json;
using os::CpuSet;

constexpr int kVersion = 1;
constexpr int kMostNodes = 1024;
constexpr int kMostDistance = 255;
constexpr double kMib = 1 << 20;

// What makes no sense, from anywhere in the file.
struct Senseless {
  std::string why;
};

void know(const Json& object, const std::string& where, const std::vector<std::string>& names) {
  if (!object.is_object()) throw Senseless{where + ": expected an object"};
  for (const auto& [name, value] : object.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Senseless{where + ": there is no \"" + name + "\"" + did_you_mean(name, names)};
  }
}

CpuSet cpus_of(const Json& value, const std::string& where) {
  const auto cpus =
      value.is_string() ? os::parse_cpus(value.get<std::string>()) : std::optional<CpuSet>();
  if (!cpus) {
    throw Senseless{where + ": expected a list of processors like \"0-3,8\", from 0 to " +
                    std::to_string(CpuSet::kMaxCpus - 1) + ", not " + value.dump()};
  }
  return *cpus;
}

int number_of(const Json& value, const std::string& where, int most) {
  const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t(most);
  if (!fits) {
    throw Senseless{where + ": expected a whole number from 0 to " + std::to_string(most) +
                    ", not " + value.dump()};
  }
  return value.get<int>();
}

const Json& list_in(const Json& whole, const char* name) {
  static const Json none = Json::array();
  const auto found = whole.find(name);
  if (found == whole.end()) return none;
  if (!found->is_array()) throw Senseless{std::string(name) + ": expected a list"};
  return *found;
}

std::string at(const char* list, std::size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

class Reader {
 public:
  explicit Reader(const Json& whole) : whole_(whole) {}

  DescribedMachine read() {
    know(whole_, "the machine", {"leat_machine", "name", "nodes", "cores", "distances", "allowed"});
    if (whole_.value("leat_machine", Json()) != kVersion)
      throw Senseless{"leat_machine: expected " + std::to_string(kVersion)};
    read_cores();
    const Json& nodes = list_in(whole_, "nodes");
    for (std::size_t i = 0; i < nodes.size(); ++i) read_node(nodes[i], at("nodes", i));
    read_distances();
    os::Machine& machine = made_.machine;
    if (machine.cpus.empty()) throw Senseless{"nodes: none of them has processors"};
    const auto has = [&](const os::MemoryNode& n) { return n.bytes > 0; };
    if (std::none_of(machine.nodes.begin(), machine.nodes.end(), has))
      throw Senseless{"nodes: none of them has memory"};
    made_.allowed = machine.all_cpus();
    if (whole_.contains("allowed"))
      made_.allowed = made_.allowed.common(cpus_of(whole_["allowed"], "allowed"));
    if (made_.allowed.empty()) throw Senseless{"allowed: none of the processors is allowed"};
    return std::move(made_);
  }

 private:
  // A processor that is in none is a core of its own.
  void read_cores() {
    const Json& cores = list_in(whole_, "cores");
    for (std::size_t i = 0; i < cores.size(); ++i) {
      const CpuSet threads = cpus_of(cores[i], at("cores", i));
      for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
        if (!threads.has(cpu)) continue;
        if (!core_of_.emplace(cpu, static_cast<int>(i)).second)
          throw Senseless{at("cores", i) + ": " + std::to_string(cpu) + " is in another core too"};
      }
    }
  }

  void read_node(const Json& node, const std::string& where) {
    know(node, where, {"id", "cpus", "memory_mib"});
    const int next = static_cast<int>(made_.machine.nodes.size());
    const int id = node.contains("id") ? number_of(node["id"], where + ".id", kMostNodes) : next;
    for (const os::MemoryNode& each : made_.machine.nodes) {
      if (each.id == id)
        throw Senseless{where + ".id: there is another node " + std::to_string(id)};
    }
    made_.machine.nodes.push_back({id, memory_of(node, where)});
    if (!node.contains("cpus")) return;
    const CpuSet cpus = cpus_of(node["cpus"], where + ".cpus");
    for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
      if (!cpus.has(cpu)) continue;
      if (!seen_.insert(cpu).second)
        throw Senseless{where + ".cpus: " + std::to_string(cpu) + " is in another node too"};
      made_.machine.cpus.push_back({cpu, core_of(cpu), id});
    }
  }

  static std::uint64_t memory_of(const Json& node, const std::string& where) {
    if (!node.contains("memory_mib")) throw Senseless{where + ": \"memory_mib\" is missing"};
    const Json& mib = node["memory_mib"];
    constexpr double kMost = 1e12;
    if (!mib.is_number() || mib.get<double>() < 0 || mib.get<double>() > kMost)
      throw Senseless{where + ".memory_mib: expected a number from 0, not " + mib.dump()};
    return static_cast<std::uint64_t>(mib.get<double>() * kMib);
  }

  int core_of(int cpu) const {
    const auto known = core_of_.find(cpu);
    return known == core_of_.end() ? CpuSet::kMaxCpus + cpu : known->second;
  }

  void read_distances() {
    const Json& rows = list_in(whole_, "distances");
    const std::vector<os::MemoryNode>& nodes = made_.machine.nodes;
    if (rows.empty()) return;
    if (rows.size() != nodes.size()) throw Senseless{"distances: expected a row for each node"};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string where = at("distances", i);
      if (!rows[i].is_array() || rows[i].size() != nodes.size())
        throw Senseless{where + ": expected a number for each node"};
      for (std::size_t j = 0; j < nodes.size(); ++j)
        made_.machine.distances[{nodes[i].id, nodes[j].id}] =
            number_of(rows[i][j], where, kMostDistance);
    }
  }

  const Json& whole_;
  DescribedMachine made_;
  std::map<int, int> core_of_;
  std::set<int> seen_;
};

// A list on a line, as people would write it.
std::string lines(const char* name, const std::vector<Json>& items) {
  std::string text = std::string("  \"") + name + "\": [";
  for (std::size_t i = 0; i < items.size(); ++i)
    text += (i ? ",\n    " : "\n    ") + items[i].dump();
  return text + "\n  ],\n";
}

}  // namespace

Result<DescribedMachine> read_machine(const std::string& file) {
  const Result<std::string> text = model::read_source(file);
  if (!text) return Error{Status::ERROR_CONFIG, file + ": " + text.error().message};
  try {
    const Json whole = Json::parse(*text);
    return Reader(whole).read();
  } catch (const Json::exception& e) {
    return Error{Status::ERROR_CONFIG, file + ": it is no JSON: " + e.what()};
  } catch (const Senseless& senseless) {
    return Error{Status::ERROR_CONFIG, file + ": " + senseless.why};
  }
}

Result<DescribedMachine> machine_here() {
  if (const char* file = std::getenv("LEAT_MACHINE"); file && *file) return read_machine(file);
  const os::Machine machine = os::this_machine();
  const CpuSet allowed = os::allowed_cpus();
  return DescribedMachine{machine, allowed.empty() ? machine.all_cpus() : allowed};
}

std::string machine_json(const DescribedMachine& described) {
  const os::Machine& machine = described.machine;
  std::vector<Json> nodes, cores, rows;
  for (const os::MemoryNode& node : machine.nodes) {
    nodes.push_back({{"id", node.id},
                     {"cpus", machine.cpus_of(node.id).str()},
                     {"memory_mib", node.bytes / static_cast<std::uint64_t>(kMib)}});
    Json row = Json::array();
    for (const os::MemoryNode& to : machine.nodes) row.push_back(machine.distance(node.id, to.id));
    rows.push_back(row);
  }
  for (const auto& [core, cpus] : machine.cores(machine.all_cpus())) cores.push_back(cpus.str());
  return "{\n  \"leat_machine\": " + std::to_string(kVersion) +
         ",\n  \"name\": " + Json(os::node_name()).dump() + ",\n" + lines("nodes", nodes) +
         lines("distances", rows) + lines("cores", cores) + "  \"allowed\": \"" +
         described.allowed.str() + "\"\n}\n";
}

}  // namespace leat::server
