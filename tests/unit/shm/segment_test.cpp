// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/segment.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/os/memory.hpp"

namespace {

using leat::Status;
using leat::shm::Segment;
using leat::shm::SegmentPlan;

class SegmentTest : public ::testing::Test {
 protected:
  void TearDown() override { Segment::remove(name_); }
  const std::string name_ = "leat-test-segment-" + std::to_string(getpid());
};

SegmentPlan small_plan() {
  SegmentPlan plan;
  plan.clients = 3;
  plan.data_bytes = 1 << 20;
  plan.catalogue_bytes = 5000;
  plan.parameters = 20;
  return plan;
}

TEST_F(SegmentTest, WhatTheServerWritesTheClientReads) {
  auto made = Segment::create(name_, small_plan());
  ASSERT_TRUE(made) << made.error().message;
  auto attached = Segment::attach(name_);
  ASSERT_TRUE(attached) << attached.error().message;
  made->client(2).events[7].token = 42;
  EXPECT_EQ(attached->client(2).events[7].token, 42u);
  EXPECT_EQ(attached->header().client_count, 3u);
}

TEST_F(SegmentTest, ItsPartsLieInsideAndDoNotOverlap) {
  auto segment = Segment::create(name_, small_plan());
  ASSERT_TRUE(segment);
  const auto& h = segment->header();
  EXPECT_GE(h.catalogue_offset, sizeof h + sizeof(leat::shm::ServerState));
  EXPECT_GE(h.steering_offset, h.catalogue_offset + 5000);
  const auto steering = segment->steering();
  EXPECT_EQ(steering.slots.size(), 20u);
  EXPECT_LE(reinterpret_cast<const char*>(&*steering.slots.end()),
            segment->at<char>(h.lanes_offset));
  EXPECT_GE(h.data_offset, h.lanes_offset + 3 * h.lanes_stride);
  EXPECT_EQ(h.data_offset % h.unit_bytes, 0u);
  EXPECT_EQ(h.segment_bytes, h.data_offset + h.data_bytes);
  const auto last = segment->client(2);
  const char* end = reinterpret_cast<const char*>(last.releases + h.release_slots);
  EXPECT_LE(end, segment->at<char>(h.data_offset));
}

TEST_F(SegmentTest, OnlyItsOwnerMayOpenIt) {
  ASSERT_TRUE(Segment::create(name_, small_plan()));
  struct stat info {};
  ASSERT_EQ(stat(("/dev/shm/" + name_).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(SegmentTest, MoreMemoryThanTheMachineHasIsRefusedWithBothNumbersAndNothingIsLeft) {
  SegmentPlan plan = small_plan();
  plan.data_bytes = leat::os::shared_memory_free() * 2;
  const auto segment = Segment::create(name_, plan);
  ASSERT_FALSE(segment);
  EXPECT_EQ(segment.error().status, Status::ERROR_MEMORY);
  const std::string free = leat::format_bytes(leat::os::shared_memory_free());
  EXPECT_NE(segment.error().message.find(free.substr(0, 2)), std::string::npos);
  EXPECT_NE(segment.error().message.find("buffer size"), std::string::npos);
  EXPECT_NE(access(("/dev/shm/" + name_).c_str(), F_OK), 0);
}

TEST_F(SegmentTest, AnotherLayoutVersionIsRefusedNamingBoth) {
  auto segment = Segment::create(name_, small_plan());
  ASSERT_TRUE(segment);
  segment->at<leat::shm::SegmentHeader>(0)->version = 77;
  const auto attached = Segment::attach(name_);
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().status, Status::ERROR_VERSION);
  EXPECT_NE(attached.error().message.find("version 77"), std::string::npos);
  EXPECT_NE(attached.error().message.find("version " + std::to_string(leat::shm::kLayoutVersion)),
            std::string::npos);
}

TEST_F(SegmentTest, AnAbsentSegmentIsAnErrorNotAnException) {
  EXPECT_FALSE(Segment::attach("leat-test-no-such-segment"));
}

}  // namespace
