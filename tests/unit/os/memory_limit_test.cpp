// SPDX-License-Identifier: Apache-2.0
// Limits of control groups, as the kernel writes them.
#include "lib/os/memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace leat::os {
namespace {

class MemoryLimit : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(
        (folder_ + "/" + path).substr(0, (folder_ + "/" + path).rfind('/')));
    std::ofstream(folder_ + "/" + path) << text;
  }
  std::uint64_t room(const std::string& groups) const { return memory_room_in(groups, folder_); }
  const std::string folder_ =
      std::filesystem::temp_directory_path() / ("leat-test-limit-" + std::to_string(getpid()));
};

TEST_F(MemoryLimit, IsTheLeastThatAGroupOrOneAboveItLeaves) {
  write("a/memory.max", "1000\n");
  write("a/memory.current", "900\n");
  write("a/memory.stat", "anon 500\ninactive_file 150\nactive_file 50\nshmem 10\n");
  write("a/b/memory.max", "max\n");
  write("a/b/memory.current", "800\n");
  EXPECT_EQ(room("0::/a/b\n"), 300u) << "what the page cache holds can be taken";
  EXPECT_EQ(room("0::/\n"), UINT64_MAX);
}

TEST_F(MemoryLimit, OfTheFirstVersionToo) {
  const std::string groups = "9:name=systemd:/\n4:cpu,memory:/job/1\n0::/\n";
  write("memory/job/1/memory.limit_in_bytes", "5000\n");
  write("memory/job/1/memory.usage_in_bytes", "4000\n");
  write("memory/job/1/memory.stat", "cache 1\ntotal_inactive_file 100\ntotal_active_file 11\n");
  EXPECT_EQ(room(groups), 1111u);
  write("memory/job/1/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(room(groups), UINT64_MAX) << "the kernel's way to say: none";
}

TEST_F(MemoryLimit, AContainerThatSeesItsOwnGroupAsTheRootHasIt) {
  write("memory.max", "700\n");
  write("memory.current", "800\n");
  EXPECT_EQ(room("0::/docker/0123\n"), 0u);
}

TEST_F(MemoryLimit, WhatCannotBeToldIsNoLimit) {
  EXPECT_EQ(room(""), UINT64_MAX);
  EXPECT_EQ(room("nonsense\n4:memory\n0::/../gone\n"), UINT64_MAX);
}

}  // namespace
}  // namespace leat::os
