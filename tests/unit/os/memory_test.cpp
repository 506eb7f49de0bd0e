// SPDX-License-Identifier: Apache-2.0
#include "lib/os/memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstring>

#include "lib/os/descriptor.hpp"
#include "lib/os/numa_binding.hpp"

namespace leat::os {
namespace {

class SharedMemory : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = UniqueFd(shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    ASSERT_TRUE(fd_);
  }
  void TearDown() override { shm_unlink(name_.c_str()); }
  struct stat info() const {
    struct stat info {};
    fstat(fd_.get(), &info);
    return info;
  }
  const std::string name_ = "/leat-test-memory-" + std::to_string(getpid());
  UniqueFd fd_;
};

TEST_F(SharedMemory, IsTakenInAdvance) {
  ASSERT_TRUE(reserve_shared_memory(fd_.get(), 2 << 20, 1 << 20));
  EXPECT_EQ(info().st_size, 2 << 20);
  EXPECT_EQ(info().st_blocks * 512, 1 << 20) << "pages, not a promise";
  EXPECT_EQ(take_shared_memory(fd_.get(), 1 << 20, 1 << 20), 0);
  EXPECT_EQ(info().st_blocks * 512, 2 << 20);
}

TEST_F(SharedMemory, WhatOthersHaveYetToTakeIsNotFree) {
  const std::string other = "/leat-test-memory-other-" + std::to_string(getpid());
  const UniqueFd fd(shm_open(other.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::uint64_t half = shared_memory_free() / 16 * 9;
  const Result<void> first = reserve_shared_memory(fd.get(), half, 4096);
  const Result<void> second = reserve_shared_memory(fd_.get(), half, 4096);
  shm_unlink(other.c_str());
  ASSERT_TRUE(first);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("have yet to take"), std::string::npos)
      << second.error().message;
}

TEST_F(SharedMemory, TakingChangesNothingThatIsThere) {
  ASSERT_TRUE(reserve_shared_memory(fd_.get(), 1 << 20, 0));
  ASSERT_EQ(pwrite(fd_.get(), "leat", 4, 4096), 4);
  ASSERT_EQ(take_shared_memory(fd_.get(), 0, 1 << 20), 0);
  void* address = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  ASSERT_NE(address, MAP_FAILED);
  populate(address, 1 << 20);
  EXPECT_EQ(std::memcmp(static_cast<char*>(address) + 4096, "leat", 5), 0);
  munmap(address, 1 << 20);
}

TEST_F(SharedMemory, BeyondWhatThereIsIsRefusedWithBothNumbersAndGivenBack) {
  struct statvfs all {};
  ASSERT_EQ(statvfs("/dev/shm", &all), 0);
  const std::uint64_t too_much = all.f_blocks * all.f_frsize + (1ull << 30);
  const Result<void> reserved = reserve_shared_memory(fd_.get(), too_much, 4096);
  ASSERT_FALSE(reserved);
  EXPECT_EQ(reserved.error().status, Status::ERROR_MEMORY);
  const std::string& message = reserved.error().message;
  EXPECT_NE(message.find(std::to_string(too_much) + " bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("/dev/shm has"), std::string::npos) << message;
  EXPECT_NE(message.find("<buffer size="), std::string::npos) << message;
  EXPECT_EQ(info().st_blocks, 0);
}

TEST_F(SharedMemory, FreeIsNoMoreThanThereIs) {
  struct statvfs all {};
  ASSERT_EQ(statvfs("/dev/shm", &all), 0);
  EXPECT_GT(shared_memory_free(), 0u);
  EXPECT_LE(shared_memory_free(), all.f_blocks * all.f_frsize);
}

TEST_F(SharedMemory, IsMappedAtOnceAndBoundWhereThereAreMemoryNodes) {
  constexpr std::size_t kBytes = 1 << 20;
  ASSERT_TRUE(reserve_shared_memory(fd_.get(), kBytes, kBytes));
  void* address = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  ASSERT_NE(address, MAP_FAILED);
  prefer_memory_node(address, kBytes, 0);  // false without NUMA: then there is nothing to bind
  EXPECT_FALSE(prefer_memory_node(address, kBytes, -1));
  populate(address, kBytes);
  static_cast<char*>(address)[kBytes - 1] = 1;
  munmap(address, kBytes);
}

}  // namespace
}  // namespace leat::os
