// SPDX-License-Identifier: Apache-2.0
// Of this machine: whatever the system refuses, nothing fails.
#include "lib/os/numa_binding.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "lib/os/cores.hpp"

namespace leat::os {
namespace {

constexpr std::size_t kBytes = 4 << 20;

TEST(NumaBinding, KnowsTheProcessorsThatThisProcessMayUse) {
  const Machine machine = this_machine();
  EXPECT_TRUE(machine.all_cpus().contains(allowed_cpus()));
  EXPECT_FALSE(machine.nodes_of(allowed_cpus()).empty());
}

TEST(NumaBinding, LeavesMemoryUsableWhateverItIsAskedFor) {
  char* const memory = static_cast<char*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  const int here = this_machine().nodes_of(allowed_cpus()).front();
  prefer_memory_node(memory, kBytes, here);
  memory[0] = 1;
  prefer_memory_node(memory, kBytes, here);  // moves what is there already
  interleave_memory(memory, kBytes, {here});
  EXPECT_FALSE(prefer_memory_node(memory, kBytes, -1));
  EXPECT_FALSE(prefer_memory_node(memory, kBytes, 1000)) << "there is no such node";
  EXPECT_FALSE(interleave_memory(memory, kBytes, {}));
  std::fill(memory + 1, memory + kBytes, 2);
  EXPECT_EQ(memory[0], 1);
  EXPECT_EQ(memory[kBytes - 1], 2);
  munmap(memory, kBytes);
}

}  // namespace
}  // namespace leat::os
