// SPDX-License-Identifier: Apache-2.0
// Builds of two versions that meet refuse each other and name both versions.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "lib/shm/segment.hpp"

namespace leat::shm {
namespace {

class OtherVersion : public testing::Test {
 protected:
  std::string name_ = "leat-abi-test-" + std::to_string(getpid());

  Segment make() {
    SegmentPlan plan;
    plan.clients = 1;
    plan.data_bytes = 1 << 20;
    plan.catalogue_bytes = 4096;
    Result<Segment> made = Segment::create(name_, plan, nullptr, nullptr);
    EXPECT_TRUE(made) << name_ << ": " << made.error().message;
    return std::move(*made);
  }
  void TearDown() override { Segment::remove(name_); }
};

TEST_F(OtherVersion, OfASegmentIsRefusedWithBothNumbers) {
  Segment segment = make();
  EXPECT_TRUE(Segment::attach(name_));
  segment.at<SegmentHeader>(0)->version = 77;
  const Result<Segment> attached = Segment::attach(name_);
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().status, Status::ERROR_VERSION);
  EXPECT_NE(attached.error().message.find("version 77"), std::string::npos);
  EXPECT_NE(attached.error().message.find("version " + std::to_string(kLayoutVersion)),
            std::string::npos);
}

TEST_F(OtherVersion, SomethingThatIsNoSegmentIsRefused) {
  Segment segment = make();
  segment.at<SegmentHeader>(0)->magic = 0;
  EXPECT_EQ(Segment::attach(name_).error().status, Status::ERROR_VERSION);
}

TEST_F(OtherVersion, ASegmentShorterThanItSaysIsRefused) {
  Segment segment = make();
  segment.at<SegmentHeader>(0)->segment_bytes *= 2;
  EXPECT_EQ(Segment::attach(name_).error().status, Status::ERROR_VERSION);
}

}  // namespace
}  // namespace leat::shm
