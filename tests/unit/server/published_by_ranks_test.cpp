// SPDX-License-Identifier: Apache-2.0
// What a client says of products is not believed.
#include "server/engine/published_by_ranks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <optional>

namespace leat::server {
namespace {

constexpr const char* kGood =
    R"({"source":"s@2","iteration":7,"by_plugin":true,"arrays":[)"
    R"({"name":"a","type":"float64","unit":"K","dimensions":["x"],"extents":[2],"offset":0,"bytes":16},)"
    R"({"name":"b","type":"int32","unit":"","dimensions":[],"extents":[],"offset":64,"bytes":4}]})";

class PublishedByRank : public testing::Test {
 protected:
  void SetUp() override {
    shm::SegmentPlan plan;
    plan.data_bytes = 1 << 20;
    Result<shm::Segment> segment = shm::Segment::create(name_, plan);
    shm::Segment::remove(name_);
    ASSERT_TRUE(segment) << segment.error().message;
    segment_.emplace(std::move(*segment));
    say(kGood);
  }

  void say(const std::string& head) {
    header_ = {};
    header_.variable = shm::kProducts;
    header_.block = static_cast<std::uint32_t>(head.size());
    header_.data_bytes = head.size() + 128;
    event_ = {};
    event_.subject = header_.block;
    event_.offset = segment_->header().data_offset;
    event_.bytes = sizeof header_ + header_.data_bytes;
    std::memcpy(segment_->at<char>(event_.offset + sizeof header_), head.data(), head.size());
  }
  std::string changed(const std::string& from, const std::string& to) const {
    std::string head = kGood;
    return head.replace(head.find(from), from.size(), to);
  }
  std::optional<Publication> read() {
    *segment_->at<shm::BlockHeader>(event_.offset) = header_;
    error_.clear();
    return published_by_rank(*segment_, event_, &error_);
  }
  void expect_refused(const char* why) {
    EXPECT_FALSE(read());
    EXPECT_NE(error_.find(why), std::string::npos) << error_;
  }

  const std::string name_ = "leat-test-published-" + std::to_string(getpid());
  std::optional<shm::Segment> segment_;
  shm::BlockHeader header_{};
  shm::Event event_{};
  std::string error_;
};

TEST_F(PublishedByRank, IsReadWhereItLies) {
  const std::optional<Publication> all = read();
  ASSERT_TRUE(all) << error_;
  EXPECT_EQ(all->source, "s@2");
  EXPECT_EQ(all->kind, Publication::Source::plugin);
  EXPECT_EQ(all->iteration, 7);
  ASSERT_EQ(all->products.size(), 2u);
  const char* const data = segment_->at<char>(event_.offset + sizeof header_) + std::strlen(kGood);
  EXPECT_EQ(all->products[0].data, data);
  EXPECT_EQ(all->products[1].data, data + 64);
  EXPECT_EQ(all->products[0].unit, "K");
  EXPECT_EQ(all->products[0].extents, (std::vector<std::int64_t>{2}));
}

TEST_F(PublishedByRank, IsRefusedWhereEventAndHeaderDiffer) {
  ++event_.subject;
  expect_refused("header differs");
  say(kGood);
  header_.variable = shm::kNoVariable;
  expect_refused("header differs");
  say(kGood);
  header_.data_bytes += 8;
  expect_refused("header differs");
  event_.bytes = 8;
  expect_refused("no header");
}

TEST_F(PublishedByRank, IsRefusedWhereTheHeadIsLongerThanAll) {
  event_.subject = header_.block = 1 << 19;
  expect_refused("their head has 524288 bytes");
}

TEST_F(PublishedByRank, IsRefusedWhereTheHeadMakesNoSense) {
  for (const auto& [from, to, why] :
       {std::tuple{"{\"source", "[\"source", "no JSON"},
        std::tuple{"\"iteration\":7", "\"iteration\":-1", "of no iteration"},
        std::tuple{"\"iteration\":7", "\"iteration\":\"7\"", "of no iteration"},
        std::tuple{"s@2", "s/2", "\"s/2\" is no name"},
        std::tuple{"\"name\":\"a\"", "\"name\":\"\"", "\"\" is no name"},
        std::tuple{"\"name\":\"a\"", "\"name\":\"b\"", "product \"b\" is there twice"},
        std::tuple{"\"offset\":64", "\"offset\":128", "the shape"},
        std::tuple{"\"offset\":64", "\"offset\":-1", "the shape"},
        std::tuple{"\"extents\":[2]", "\"extents\":[3]", "the shape"},
        std::tuple{"\"type\":\"float64\"", "\"type\":\"float63\"", "the shape"},
        std::tuple{"\"dimensions\":[\"x\"]", "\"dimensions\":[\"x/y\"]", "\"x/y\" is no name"}}) {
    say(changed(from, to));
    expect_refused(why);
  }
  say(R"({"source":"s","iteration":0,"arrays":[]})");
  expect_refused("the shape");
}

}  // namespace
}  // namespace leat::server
