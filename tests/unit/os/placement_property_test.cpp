// SPDX-License-Identifier: Apache-2.0
// What holds of placement on every machine: thousands of them, thrown by dice.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lib/node/placement.hpp"

namespace leat::os {
using namespace node;
namespace {

constexpr int kMachines = 1000;

struct Case {
  Machine machine;
  CpuSet allowed;
  std::vector<CpuSet> ranks;
  int wanted = 1;
};

// 1-8 memory nodes of unlike sizes, 2-256 cores, some with hardware threads, some processors
// offline, nodes without memory or without cores, cpusets down to one processor, ranks bound to
// cores, to nodes, to sets of any kind, or not at all.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}

  Case next() {
    Case made;
    made.machine = machine();
    made.allowed = allowed(made.machine);
    made.wanted = at_most(3) == 0 ? at_most(20) + 1 : 1;
    ranks(&made);
    return made;
  }

 private:
  int at_most(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  bool one_in(int count) { return at_most(count - 1) == 0; }

  Machine machine() {
    Machine made;
    const int nodes = 1 + at_most(7), cores = one_in(3) ? 2 + at_most(6) : 2 + at_most(254);
    const int threads = one_in(3) ? 2 : 1;
    for (int core = 0; core < cores; ++core) {
      const int node = at_most(2) == 0 ? at_most(nodes - 1) : core * nodes / cores;
      for (int thread = 0; thread < threads; ++thread) {
        const bool offline = core > 0 && one_in(12);
        if (!offline) made.cpus.push_back({thread * cores + core, core, node});
      }
    }
    if (one_in(4)) return made;
    for (int node = 0; node < nodes + at_most(2); ++node)
      made.nodes.push_back({node, one_in(6) ? 0u : 1u << 30});
    made.nodes[static_cast<std::size_t>(made.cpus[0].memory_node)].bytes = 1 << 30;
    for (int from = 0; from < nodes; ++from) {
      for (int to = 0; to < nodes; ++to)
        if (!one_in(5)) made.distances[{from, to}] = from == to ? 10 : 11 + at_most(40);
    }
    return made;
  }

  CpuSet allowed(const Machine& machine) {
    if (!one_in(3)) return machine.all_cpus();
    CpuSet some;
    some.add(
        machine.cpus[static_cast<std::size_t>(at_most(static_cast<int>(machine.cpus.size()) - 1))]
            .id);
    if (one_in(4)) return some;
    for (const Cpu& cpu : machine.cpus) {
      if (one_in(2)) some.add(cpu.id);
    }
    return some;
  }

  void ranks(Case* made) {
    std::vector<CpuSet> cores;
    for (const auto& [core, cpus] : made->machine.cores(made->allowed)) cores.push_back(cpus);
    const int kind = at_most(4), all = static_cast<int>(cores.size());
    const int count = kind == 0 ? at_most(all) : std::max(0, all - at_most(4));
    for (int i = 0; i < count; ++i) {
      CpuSet rank = cores[static_cast<std::size_t>(i)];
      if (kind == 1 || (kind == 2 && one_in(8))) rank = one_in(2) ? made->allowed : CpuSet();
      if (kind == 3) rank.unite(cores[static_cast<std::size_t>(at_most(all - 1))]);
      if (kind == 4) rank = of_node(made->machine, made->allowed, at_most(7));
      made->ranks.push_back(rank);
    }
  }

  static CpuSet of_node(const Machine& machine, const CpuSet& allowed, int node) {
    CpuSet cpus;
    for (const Cpu& cpu : machine.cpus) {
      if (cpu.memory_node == node && allowed.has(cpu.id)) cpus.add(cpu.id);
    }
    return cpus;
  }

  std::mt19937 random_;
};

std::vector<int> names_of(const Case& each) {
  std::vector<int> names(each.ranks.size());
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = static_cast<int>(i);
  return names;
}

CpuSet bound_cores(const Case& each) {
  CpuSet bound, whole;
  for (const CpuSet& rank : each.ranks) {
    if (!rank.contains(each.allowed)) bound.unite(rank);
  }
  for (const auto& [core, cpus] : each.machine.cores(each.machine.all_cpus())) {
    if (!cpus.common(bound).empty()) whole.unite(cpus);
  }
  return whole;
}

template <class Check>
void on_all_machines(Check check) {
  for (unsigned seed = 0; seed < kMachines && !::testing::Test::HasFailure(); ++seed) {
    const Case each = Dice(seed).next();
    const Placement placed = place_server(each.machine, each.allowed, each.ranks, each.wanted);
    SCOPED_TRACE("machine " + std::to_string(seed) + ", allowed " + each.allowed.str() +
                 ", server on " + placed.cpus.str());
    check(each, placed);
  }
}

TEST(PlacementAnywhere, IsOnProcessorsThatAreThereAndAllowed) {
  on_all_machines([](const Case& each, const Placement& placed) {
    EXPECT_FALSE(placed.cpus.empty());
    EXPECT_TRUE(each.allowed.contains(placed.cpus));
    EXPECT_TRUE(each.machine.all_cpus().contains(placed.cpus));
  });
}

TEST(PlacementAnywhere, TakesNoCoreOfARankUnlessAllAreTakenAndThenWarns) {
  on_all_machines([](const Case& each, const Placement& placed) {
    const CpuSet bound = bound_cores(each);
    if (placed.cpus.common(bound).empty()) return;
    EXPECT_TRUE(bound.contains(each.allowed)) << "a core was free";
    EXPECT_FALSE(placed.pinned);
    const auto lines = warnings(each.machine, placed, each.ranks, names_of(each), each.wanted);
    // Ranks that are bound to many cores leave some of them idle; the system finds those.
    if (placed.shared) {
      EXPECT_NE(lines.at(0).find("with rank"), std::string::npos);
    } else {
      EXPECT_LT(each.ranks.size(), each.machine.cores(each.allowed).size());
    }
  });
}

TEST(PlacementAnywhere, HasAsManyCoresOfItsOwnAsItWantsOrWarns) {
  on_all_machines([](const Case& each, const Placement& placed) {
    if (!placed.pinned) return;
    EXPECT_FALSE(placed.shared);
    EXPECT_EQ(each.machine.cores(placed.cpus).size(), static_cast<std::size_t>(placed.cores));
    EXPECT_LE(placed.cores, each.wanted);
    const auto lines = warnings(each.machine, placed, each.ranks, names_of(each), each.wanted);
    EXPECT_EQ(lines.empty(), placed.cores == each.wanted);
  });
}

TEST(PlacementAnywhere, IsTheSameEachTimeAndInWhateverOrderTheProcessorsAreListed) {
  on_all_machines([](const Case& each, const Placement& placed) {
    Machine turned = each.machine;
    std::reverse(turned.cpus.begin(), turned.cpus.end());
    std::reverse(turned.nodes.begin(), turned.nodes.end());
    const Placement again = place_server(turned, each.allowed, each.ranks, each.wanted);
    EXPECT_EQ(placed.cpus, again.cpus);
    EXPECT_EQ(placed.memory_node, again.memory_node);
    EXPECT_EQ(placed.shared, again.shared);
    EXPECT_EQ(placed.pinned, again.pinned);
  });
}

TEST(PlacementAnywhere, PutsMemoryOnNodesThatHaveSomeAndProcessorsToo) {
  on_all_machines([](const Case& each, const Placement& placed) {
    const std::vector<int> valid = each.machine.nodes_of(each.machine.all_cpus());
    const auto is_valid = [&](int node) {
      return std::find(valid.begin(), valid.end(), node) != valid.end();
    };
    EXPECT_TRUE(is_valid(placed.memory_node)) << placed.memory_node;
    for (const MemoryPolicy policy :
         {MemoryPolicy::server, MemoryPolicy::client, MemoryPolicy::interleave}) {
      const MemoryPlacement memory =
          place_memory(each.machine, each.allowed, placed, each.ranks, policy);
      EXPECT_TRUE(std::all_of(memory.interleaved.begin(), memory.interleaved.end(), is_valid));
      EXPECT_TRUE(std::all_of(memory.of_rank.begin(), memory.of_rank.end(), is_valid));
      const bool in_turns = policy == MemoryPolicy::interleave;
      EXPECT_EQ(memory.of_rank.size(), in_turns ? 0 : each.ranks.size());
      EXPECT_EQ(memory.interleaved.empty(), !in_turns);
    }
  });
}

TEST(PlacementAnywhere, LeavesARanksPartAtHomeWhereThatHasMemory) {
  on_all_machines([](const Case& each, const Placement& placed) {
    const MemoryPlacement memory =
        place_memory(each.machine, each.allowed, placed, each.ranks, MemoryPolicy::client);
    for (std::size_t i = 0; i < each.ranks.size(); ++i) {
      const int home = node_of(each.machine, each.ranks[i]);
      if (home < 0 || !each.machine.has_memory(home)) continue;
      EXPECT_EQ(memory.of_rank[i], home);
    }
  });
}

}  // namespace
}  // namespace leat::os
