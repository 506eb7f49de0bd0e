// SPDX-License-Identifier: Apache-2.0
#include "lib/os/cores.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "lib/os/numa_binding.hpp"
#include "tests/unit/os/cpus.hpp"

namespace leat::os {
namespace {

TEST(CpuSet, IsWrittenAsTasksetWritesIt) {
  EXPECT_EQ(cpus({0, 1, 2, 7}).str(), "0-2,7");
  EXPECT_EQ(cpus({3}).str(), "3");
  EXPECT_EQ(cpus({62, 63, 64, 65}).str(), "62-65") << "across words";
  EXPECT_EQ(cpus({CpuSet::kMaxCpus - 1}).str(), std::to_string(CpuSet::kMaxCpus - 1));
  EXPECT_EQ(CpuSet().str(), "");
}

TEST(CpuSet, IsASet) {
  EXPECT_EQ(cpus({0, 1}).without(cpus({1, 2})), cpus({0}));
  EXPECT_TRUE(cpus({0, 70}).contains(cpus({70})));
  EXPECT_FALSE(cpus({0}).contains(cpus({0, 1})));
  EXPECT_TRUE(cpus({}).empty());
  CpuSet both = cpus({1});
  both.unite(cpus({100}));
  EXPECT_EQ(both, cpus({1, 100}));
  EXPECT_EQ(both.count(), 2);
}

TEST(CpuSet, IgnoresNumbersThatItCannotHold) {
  EXPECT_TRUE(cpus({-1, CpuSet::kMaxCpus}).empty());
  EXPECT_FALSE(cpus({0}).has(-1));
  EXPECT_FALSE(cpus({0}).has(CpuSet::kMaxCpus));
}

// In a thread of its own, whose binding ends with it.
template <class Body>
void in_a_thread(const Body& body) {
  std::thread(body).join();
}

TEST(Affinity, OfAThreadIsWhatItWasSetTo) {
  in_a_thread([] {
    const CpuSet here = cpus({sched_getcpu()});
    ASSERT_TRUE(set_affinity(here));
    EXPECT_EQ(current_affinity(), here);
  });
}

TEST(Affinity, ThatHasNoProcessorIsRefused) {
  in_a_thread([] {
    const CpuSet before = current_affinity();
    EXPECT_FALSE(set_affinity(CpuSet()));
    EXPECT_EQ(current_affinity(), before);
  });
}

TEST(Affinity, LooksPastTheBindingThatALauncherSet) {
  const CpuSet all = allowed_cpus();
  in_a_thread([&all] {
    const CpuSet here = cpus({sched_getcpu()});
    ASSERT_TRUE(set_affinity(here));
    EXPECT_EQ(allowed_cpus(), all);
    EXPECT_EQ(current_affinity(), here) << "unchanged afterwards";
  });
}

TEST(ThisMachine, HasEveryAllowedProcessorOnce) {
  CpuSet seen;
  const Machine machine = this_machine();
  for (const Cpu& cpu : machine.cpus) {
    EXPECT_FALSE(seen.has(cpu.id));
    EXPECT_GE(cpu.memory_node, 0);
    seen.add(cpu.id);
  }
  EXPECT_TRUE(seen.contains(allowed_cpus()));
}

TEST(Affinity, ReadsWhatItWrites) {
  for (const char* text : {"0", "0-3,8", "1,3,5", "0-1023", ""}) {
    const std::optional<CpuSet> cpus = parse_cpus(text);
    ASSERT_TRUE(cpus) << text;
    EXPECT_EQ(cpus->str(), text);
  }
  for (const char* text : {"a", "0-", "-1", "3-1", "0,", ",0", "1024", "0-1024", "0 1", "1-2-3"})
    EXPECT_FALSE(parse_cpus(text)) << text;
}

TEST(OwnMemoryNode, IsTheOneThatHasAllProcessors) {
  const std::string folder = testing::TempDir() + "leat-nodes-" + std::to_string(getpid());
  for (const auto& [name, list] : {std::pair{"node0", "0-3,8"}, {"node12", "4-7"}}) {
    std::filesystem::create_directories(folder + "/" + name);
    std::ofstream(folder + "/" + name + "/cpulist") << list << "\n";
  }
  const auto set_of = [](const char* text) { return *parse_cpus(text); };
  EXPECT_EQ(memory_node_of(set_of("5,7"), folder), 12);
  EXPECT_EQ(memory_node_of(set_of("8"), folder), 0);
  EXPECT_EQ(memory_node_of(set_of("3-4"), folder), 0) << "they are on two";
  EXPECT_EQ(memory_node_of(CpuSet(), folder), 0);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(memory_node_of(set_of("5"), folder), 0) << "nothing is told";
}

}  // namespace
}  // namespace leat::os
