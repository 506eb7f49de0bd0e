// SPDX-License-Identifier: Apache-2.0
// Servers meet by their offers, and in a folder: whatever else lies there, whoever comes late.
#include "lib/comm/meeting.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "lib/comm/folder_meeting.hpp"
#include "lib/comm/listening.hpp"
#include "lib/comm/tls.hpp"

namespace leat::comm {
namespace {

namespace fs = std::filesystem;

Offer offer_of(const std::string& node) {
  return *make_offer(node, 4711, {"10.1.0.3", "2001:db8::1"});
}

TEST(Meeting, KnowsAllServersByTheirOffersInOrder) {
  const Offer a = offer_of("node-a"), b = offer_of("node-b"), c = offer_of("node-c");
  const std::string all = bytes_of(a, true) + bytes_of(b, false) + bytes_of(c, false);
  const Result<Meeting> of_a = meeting_of(all, a.number), of_c = meeting_of(all, c.number);
  ASSERT_TRUE(of_a && of_c);
  EXPECT_EQ(of_a->self, 0);
  EXPECT_EQ(of_c->self, 2);
  EXPECT_EQ(of_a->run, of_c->run);
  EXPECT_EQ(of_a->cards, of_c->cards);
  EXPECT_EQ(of_a->cards[1], (Card{1, "node-b", 4711, {"10.1.0.3", "2001:db8::1"}}));
  EXPECT_TRUE(of_a->all_have_addresses());
  ASSERT_TRUE(Credential::from_text(of_c->credential));
  EXPECT_EQ(of_c->credential, a.credential);
}

TEST(Meeting, HasARunOfItsOwnEachTime) {
  const Offer a = offer_of("node-a"), b = offer_of("node-b"), other = offer_of("node-b");
  const Result<Meeting> first = meeting_of(bytes_of(a, true) + bytes_of(b, false), a.number);
  const Result<Meeting> second = meeting_of(bytes_of(a, true) + bytes_of(other, false), a.number);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->run, second->run);
}

TEST(Meeting, RefusesWhatMakesNoSense) {
  const Offer a = offer_of("node-a"), b = offer_of("node-b");
  const std::string good = bytes_of(a, true) + bytes_of(b, false);
  EXPECT_FALSE(meeting_of("", a.number));
  EXPECT_FALSE(meeting_of(good, a.number + 1));
  EXPECT_FALSE(meeting_of(bytes_of(a, false) + bytes_of(b, false), a.number));
  EXPECT_FALSE(meeting_of(bytes_of(a, true) + bytes_of(b, true), a.number));
  EXPECT_FALSE(meeting_of(good + bytes_of(b, false), a.number));
  for (std::size_t size = 0; size < good.size(); ++size) {
    if (size == bytes_of(a, true).size()) continue;
    EXPECT_FALSE(meeting_of(good.substr(0, size), a.number)) << size;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {  // nothing is read beyond the bytes
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    (void)meeting_of(changed, a.number);
  }
}

TEST(Meeting, LeavesOutAddressesBeyondTheirNumber) {
  const Result<Offer> many =
      make_offer(std::string(1000, 'n'), 1,
                 std::vector<std::string>(100, "2001:db8:1111:2222:3333:4444:5555:6666"));
  ASSERT_TRUE(many);
  EXPECT_EQ(many->card.addresses.size(), kMostAddresses);
  EXPECT_LE(bytes_of(*many, true).size(), kMostBytesOfOffer);
  const Result<Offer> odd = make_offer("n", 1, {std::string(46, 'a'), "10.1.0.3"});
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->card.addresses, std::vector<std::string>{"10.1.0.3"});
}

TEST(Listening, IsAtOnePortOfAllAddressesAndThereAgainForASuccessor) {
  Result<Listening> first = listen_at({"127.0.0.1", "127.0.0.2"});
  ASSERT_TRUE(first) << first.error().message;
  const std::uint16_t port = first->port;
  ASSERT_NE(port, 0);
  EXPECT_FALSE(listen_at({"127.0.0.1"}, port));
  first->sockets.clear();
  const Result<Listening> again = listen_at({"127.0.0.1", "127.0.0.2"}, port);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->port, port);
  const Result<Listening> none = listen_at({"no address"});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("no address"), std::string::npos);
}

class FolderMeetingTest : public testing::Test {
 protected:
  FolderMeetingTest()
      : base_(fs::path(testing::TempDir()) / ("leat-meeting-" + std::to_string(getpid()))),
        folder_((base_ / "run.group" / "job-7").string()) {
    fs::remove_all(base_);
  }
  ~FolderMeetingTest() override { fs::remove_all(base_); }

  // Of a run with two ranks for each server.
  std::unique_ptr<FolderMeeting> server(int number, int servers, const Offer& own) const {
    return std::make_unique<FolderMeeting>(
        FolderMeeting::Settings{folder_, own, 2 * number, 2, 2 * servers});
  }
  std::unique_ptr<FolderMeeting> server(int number, int servers) const {
    return server(number, servers, offer_of("node-" + std::to_string(number)));
  }
  static void poll(const std::vector<std::unique_ptr<FolderMeeting>>& all, int times) {
    for (int i = 0; i < times; ++i)
      for (const auto& each : all) each->poll();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& each : fs::directory_iterator(folder_))
      names.push_back(each.path().filename().string());
    return names;
  }

  const fs::path base_;
  const std::string folder_;
};

TEST_F(FolderMeetingTest, BringsAllServersTogether) {
  std::vector<Offer> offers;
  std::vector<std::unique_ptr<FolderMeeting>> all;
  for (int i = 0; i < 5; ++i) {
    offers.push_back(offer_of("node-" + std::to_string(i)));
    all.push_back(server(4 - i, 5, offers.back()));  // the first comes last
  }
  poll(all, 4);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i]->offers(), all[0]->offers()) << all[i]->why_waiting();
    EXPECT_EQ(all[i]->why_waiting(), "");
    const Result<Meeting> meeting = meeting_of(all[i]->offers(), offers[i].number);
    ASSERT_TRUE(meeting) << meeting.error().message;
    EXPECT_EQ(meeting->self, static_cast<Rank>(4 - i));
    EXPECT_EQ(meeting->credential, offers[4].credential);
  }
  for (const auto& each : all) each->leave();
  EXPECT_FALSE(fs::exists(base_ / "run.group"));
}

TEST_F(FolderMeetingTest, ShowsNothingToOthers) {
  std::vector<std::unique_ptr<FolderMeeting>> all;
  fs::create_directories(folder_);  // by somebody who did not mind
  for (int i = 0; i < 2; ++i) all.push_back(server(i, 2));
  poll(all, 3);
  ASSERT_NE(all[1]->offers(), "");
  struct stat facts {};
  ASSERT_EQ(stat(folder_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700U);
  for (const std::string& each : files()) {
    ASSERT_EQ(stat((folder_ + "/" + each).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600U) << each;
  }
}

TEST_F(FolderMeetingTest, WaitsForAServerThatComesLateAndSaysSo) {
  std::vector<std::unique_ptr<FolderMeeting>> all;
  for (int i = 0; i < 2; ++i) all.push_back(server(i, 3));
  poll(all, 10);
  for (const auto& each : all) {
    EXPECT_EQ(each->offers(), "");
    EXPECT_EQ(each->why_waiting(), "of the 6 ranks of the run servers of only 4 have met in " +
                                       folder_ + "; all nodes have to share that folder");
  }
  all.push_back(server(2, 3));
  poll(all, 4);
  for (const auto& each : all) EXPECT_NE(each->offers(), "") << each->why_waiting();
}

TEST_F(FolderMeetingTest, TakesNothingThatAKilledRunHasLeft) {
  std::vector<std::unique_ptr<FolderMeeting>> old, part, now;
  for (int i = 0; i < 3; ++i) old.push_back(server(i, 3));
  poll(old, 4);  // all met
  const std::string before = old[0]->offers();
  for (int i = 1; i < 3; ++i) part.push_back(server(i, 3));
  poll(part, 4);  // killed before they met
  for (const auto& each : part) EXPECT_EQ(each->offers(), "");
  for (int i = 0; i < 3; ++i) now.push_back(server(i, 3));
  now[1]->poll();
  now[2]->poll();
  EXPECT_EQ(now[1]->offers() + now[2]->offers(), "");  // rank 0's server is a dead one's
  poll(now, 4);
  ASSERT_NE(now[0]->offers(), "") << now[0]->why_waiting();
  EXPECT_NE(now[0]->offers(), before);
  for (const auto& each : now) {
    EXPECT_EQ(each->offers(), now[0]->offers());
    each->leave();
  }
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(FolderMeetingTest, GoesOnUnderTheSameNumberWhereAServerWasKilled) {
  const Offer own = offer_of("node-1");
  std::vector<std::unique_ptr<FolderMeeting>> all;
  all.push_back(server(0, 2));
  all.push_back(server(1, 2, own));
  all[1]->poll();
  all[1] = server(1, 2, own);
  poll(all, 3);
  EXPECT_EQ(all[0]->offers(), all[1]->offers());
  EXPECT_NE(all[0]->offers(), "");
}

TEST_F(FolderMeetingTest, MakesAFolderAgainThatSomebodyHasRemoved) {
  std::vector<std::unique_ptr<FolderMeeting>> all;
  for (int i = 0; i < 2; ++i) all.push_back(server(i, 3));
  poll(all, 2);
  fs::remove_all(base_);
  poll(all, 1);
  fs::remove_all(folder_);
  all.push_back(server(2, 3));
  poll(all, 4);
  for (const auto& each : all) EXPECT_NE(each->offers(), "") << each->why_waiting();
}

TEST_F(FolderMeetingTest, TakesNoCardThatIsNotWholeOrOfAnotherRun) {
  std::vector<std::unique_ptr<FolderMeeting>> all;
  all.push_back(server(0, 2));
  all.push_back(server(1, 3));  // a run of six ranks
  poll(all, 3);
  EXPECT_EQ(all[0]->offers(), "");
  all[1]->leave();
  all[1] = server(1, 2);
  all[1]->poll();
  for (const std::string& each : files()) {
    if (each.starts_with("2-")) fs::resize_file(folder_ + "/" + each, 40);
  }
  all[0]->poll();
  EXPECT_EQ(all[0]->offers(), "");
  EXPECT_NE(all[0]->why_waiting(), "");
}

TEST_F(FolderMeetingTest, SaysThatTwoRunsHaveOneName) {
  std::vector<std::unique_ptr<FolderMeeting>> all;
  all.push_back(server(0, 2));
  for (int i = 0; i < 2; ++i) all.push_back(server(1, 2));
  all[0]->poll();
  all[1]->poll();
  all[2]->poll();
  all[0]->poll();
  EXPECT_EQ(all[0]->offers(), "");
  EXPECT_NE(all[0]->why_waiting().find("LEAT_SESSION"), std::string::npos) << all[0]->why_waiting();
}

TEST_F(FolderMeetingTest, SaysWhyAFolderCannotBeHad) {
  fs::create_directories(base_);
  std::ofstream(base_ / "run.group") << "a file";
  const auto one = server(0, 2);
  one->poll();
  EXPECT_NE(one->why_waiting().find(folder_), std::string::npos) << one->why_waiting();
  fs::remove(base_ / "run.group");
  fs::create_directories(base_ / "run.group");
  fs::create_directory_symlink("/tmp", folder_);
  one->poll();
  EXPECT_NE(one->why_waiting().find("cannot open"), std::string::npos) << one->why_waiting();
}

TEST_F(FolderMeetingTest, RemovesWhatRunsHaveLeftForMoreThanADay) {
  const auto old = server(0, 2);
  old->poll();
  const fs::path of_run = base_ / "run.group";
  fs::create_directories(of_run / "young");
  const auto before = fs::file_time_type::clock::now() - std::chrono::hours(25);
  for (const auto& each : fs::directory_iterator(folder_)) fs::last_write_time(each, before);
  fs::last_write_time(folder_, before);
  remove_old_meetings(of_run.string());
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_TRUE(fs::exists(of_run / "young"));
}

}  // namespace
}  // namespace leat::comm
