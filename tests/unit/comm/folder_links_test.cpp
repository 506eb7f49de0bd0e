// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/folder_links.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "lib/comm/hello.hpp"
#include "lib/comm/network.hpp"
#include "tests/support/link_end.hpp"

namespace leat::comm {
namespace {

namespace fs = std::filesystem;
using test::kMs;
using test::LinkEnd;
using test::soon;

class FolderLinksTest : public ::testing::Test {
 protected:
  FolderLinksTest() {
    std::string name = (fs::temp_directory_path() / "leat-links-XXXXXX").string();
    root_ = mkdtemp(name.data());
    path_ = root_ + "/run.group/session";  // which nobody has made
  }
  ~FolderLinksTest() override { fs::remove_all(root_); }

  FolderLinks::Settings settings(Rank self, Rank size = 2, const std::string& run = "run") const {
    return {self, size, run, 2000 * kMs, std::size_t{64} << 20};
  }
  LinkEnd end(Rank self, Rank size = 2, const std::string& run = "run") const {
    Result<std::unique_ptr<FolderLinks>> links =
        FolderLinks::open(settings(self, size, run), path_);
    EXPECT_TRUE(links) << links.error().message;
    return {std::move(*links)};
  }
  fs::path of_run() const { return fs::path(path_) / "links-run"; }
  bool is_empty() const { return fs::is_empty(root_); }

  std::string root_, path_;
};

TEST_F(FolderLinksTest, CarryMessagesBothWaysAndLeaveNothing) {
  {
    LinkEnd a = end(0), b = end(1);
    b.links->want(0, os::now_ns());
    ASSERT_TRUE(soon({&a, &b}, [&] { return a.seen[1].ups == 1 && b.seen[0].ups == 1; }));
    const std::string large(20'000'000, 'x');
    for (int i = 0; i < 100; ++i) a.links->send(1, "down " + std::to_string(i));
    b.links->send(0, large);
    b.links->send(0, "after");
    ASSERT_TRUE(soon({&a, &b}, [&] {
      return a.seen[1].messages.size() == 2 && b.seen[0].messages.size() == 100;
    }));
    EXPECT_EQ(a.seen[1].messages, (std::vector<std::string>{large, "after"}));
    EXPECT_EQ(b.seen[0].messages[99], "down 99");
    for (const auto& each : fs::recursive_directory_iterator(of_run())) {
      const bool is_folder = each.is_directory();
      EXPECT_EQ(each.status().permissions(), is_folder ? fs::perms::owner_all : fs::perms(0600));
    }
    b.links->want(std::nullopt, os::now_ns());
    ASSERT_TRUE(soon({&a, &b}, [&] { return a.seen[1].downs == 1 && b.seen[0].downs == 1; }));
  }
  EXPECT_TRUE(is_empty());
}

TEST_F(FolderLinksTest, OneThatEndsIsMissedAtOnce) {
  LinkEnd a = end(0);
  {
    LinkEnd b = end(1);
    b.links->want(0, os::now_ns());
    ASSERT_TRUE(soon({&a, &b}, [&] { return b.seen[0].ups == 1; }));
    b.links->send(0, "the last word");
  }
  ASSERT_TRUE(soon({&a}, [&] { return a.seen[1].downs == 1; }));
  EXPECT_EQ(a.seen[1].messages, std::vector<std::string>{"the last word"});
}

TEST_F(FolderLinksTest, WhoIsNotThereYetIsTriedAgain) {
  LinkEnd b = end(1);
  b.links->want(0, os::now_ns());
  ASSERT_TRUE(soon({&b}, [&] { return !b.links->why_unreached().empty(); }));
  EXPECT_TRUE(b.says("server 0 has not started"));
  LinkEnd a = end(0);
  EXPECT_TRUE(soon({&a, &b}, [&] { return b.seen[0].ups == 1 && a.seen[1].ups == 1; }));
  EXPECT_EQ(b.links->why_unreached(), "");
}

TEST_F(FolderLinksTest, TwoRunsInOneFolderDoNotMeet) {
  LinkEnd a = end(0, 2, "run/1"), b = end(1, 2, "run%2f1"), c = end(1, 2, "run/1");
  b.links->want(0, os::now_ns());
  c.links->want(0, os::now_ns());
  ASSERT_TRUE(soon({&a, &b, &c}, [&] { return c.seen[0].ups == 1; }));
  EXPECT_TRUE(b.seen.empty());
  EXPECT_NE(b.links->why_unreached(), "");
}

TEST_F(FolderLinksTest, AFileOfAnotherRunOrVersionIsRefused) {
  LinkEnd a = end(0);
  FileWriter writer("0/1.0123456789abcdef.call");
  writer.send(hello_text({1, 0, 3, "run"}));
  std::string why;
  const os::UniqueFd folder(open(of_run().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(writer.write(folder.get(), &why), FileWriter::State::good);
  ASSERT_TRUE(soon({&a}, [&] { return a.links->refused() == 1; }));
  EXPECT_NE(a.links->why_refused().find("another run"), std::string::npos);
  EXPECT_TRUE(a.seen.empty());
  EXPECT_FALSE(writer.is_there(folder.get()));
}

TEST_F(FolderLinksTest, WhenTheFolderIsRemovedTheLinksAreMadeAnew) {
  LinkEnd a = end(0), b = end(1);
  b.links->want(0, os::now_ns());
  ASSERT_TRUE(soon({&a, &b}, [&] { return b.seen[0].ups == 1 && a.seen[1].ups == 1; }));
  fs::remove_all(of_run());
  ASSERT_TRUE(soon({&a, &b}, [&] { return b.seen[0].ups == 2 && a.seen[1].ups == 2; }));
  a.links->send(1, "again");
  EXPECT_TRUE(soon({&a, &b}, [&] { return !b.seen[0].messages.empty(); }));
  fs::rename(path_, path_ + "-away");
  ASSERT_TRUE(soon({&a, &b}, [&] { return !b.links->why_unreached().empty(); }));
  EXPECT_TRUE(b.says("No such file"));
  fs::rename(path_ + "-away", path_);
  a.links->send(1, "back");
  EXPECT_TRUE(soon({&a, &b}, [&] { return b.seen[0].messages.back() == "back"; }));
  EXPECT_EQ(b.links->why_unreached(), "");
}

TEST_F(FolderLinksTest, AFolderIntoWhichOthersMayLookIsNotUsed) {
  ASSERT_TRUE(fs::create_directories(of_run()));
  chmod(of_run().c_str(), 0755);
  Result<std::unique_ptr<FolderLinks>> links = FolderLinks::open(settings(0), path_);
  ASSERT_FALSE(links);
  EXPECT_NE(links.error().message.find("remove it"), std::string::npos);
  fs::remove_all(root_);
  links = FolderLinks::open(settings(0), path_);
  ASSERT_FALSE(links);
  EXPECT_NE(links.error().message.find("No such file"), std::string::npos);
}

TEST_F(FolderLinksTest, ASecondServerOfTheSameRankTakesThePlaceOfTheFirst) {
  LinkEnd a = end(0), b = end(1);
  b.links->want(0, os::now_ns());
  ASSERT_TRUE(soon({&a, &b}, [&] { return b.seen[0].ups == 1 && a.seen[1].ups == 1; }));
  {
    LinkEnd again = end(1);
    again.links->want(0, os::now_ns());
    ASSERT_TRUE(soon({&a, &b, &again}, [&] { return again.seen[0].ups == 1; }));
    EXPECT_TRUE(soon({&a, &b, &again}, [&] { return b.seen[0].downs == 1; }));
    EXPECT_TRUE(soon({&a, &b, &again}, [&] { return b.says("taken the place"); }));
    again.links->send(0, "of the second");
    b.links->send(0, "of the first");
    EXPECT_TRUE(soon({&a, &b, &again}, [&] { return !a.seen[1].messages.empty(); }));
  }
  EXPECT_TRUE(soon({&a, &b}, [&] { return a.seen[1].downs > 0; }));
  EXPECT_EQ(a.seen[1].messages, std::vector<std::string>{"of the second"});
}

// Writes without end, in pieces of many sizes, until it is killed.
[[noreturn]] void write_until_killed(const FolderLinks::Settings& settings,
                                     const std::string& folder, int series) {
  Result<std::unique_ptr<FolderLinks>> links = FolderLinks::open(settings, folder);
  if (!links) _exit(1);
  const os::UniqueFd wake(eventfd(0, EFD_CLOEXEC));
  (*links)->want(0, os::now_ns());
  bool is_up = false;
  for (int i = 0;;) {
    for (const LinkEvent& each : (*links)->poll(os::now_ns() + kMs, wake.get()))
      is_up |= each.kind == LinkEvent::Kind::up;
    for (int n = 0; is_up && n < 20; ++n, ++i)
      (*links)->send(0, std::to_string(series) + ' ' + std::to_string(i) + ' ' +
                            std::string(static_cast<std::size_t>(i * 7919 % 3000), 'x'));
  }
}

TEST_F(FolderLinksTest, OneThatIsKilledWhileItWritesAndItsSuccessorsAreNeverMixedUp) {
  LinkEnd a = end(0);
  std::mt19937 random(1);
  for (int series = 0; series < 12; ++series) {
    const pid_t child = fork();
    if (child == 0) write_until_killed(settings(1), path_, series);
    LinkEnd::Seen& seen = a.seen[1];
    const auto has_begun = [&] {
      return !seen.messages.empty() &&
             seen.messages.back().starts_with(std::to_string(series) + ' ');
    };
    ASSERT_TRUE(soon({&a}, has_begun)) << series;
    const std::int64_t until = os::now_ns() + static_cast<std::int64_t>(random() % 60) * kMs;
    while (os::now_ns() < until) a.poll();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(seen.ups, series + 1);
  }
  a.poll();
  int series = -1, next = 0;
  for (const std::string& each : a.seen[1].messages) {
    int of = -1, number = -1;
    ASSERT_EQ(std::sscanf(each.c_str(), "%d %d", &of, &number), 2);
    if (of != series) next = 0;
    ASSERT_GE(of, series);
    ASSERT_EQ(number, next++) << of;
    series = of;
  }
  EXPECT_GT(a.seen[1].messages.size(), 200U);
  a.links->set_gone(RankSet(1));
  a.links.reset();
  EXPECT_TRUE(is_empty());
}

// In a mount name space of its own, so that nothing of it is left; the end status says where it failed.
int with_small_disk(const std::string& path, const std::function<int()>& what) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", path.c_str(), "tmpfs", 0, "size=256k") != 0)
      _exit(77);
    _exit(what());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(FolderLinksTest, AFullOrReadOnlyDiskDelaysAndSaysSo) {
  const int ended = with_small_disk(path_, [this] {
    LinkEnd a = end(0), b = end(1);
    b.links->want(0, os::now_ns());
    if (!soon({&a, &b}, [&] { return b.seen[0].ups == 1 && a.seen[1].ups == 1; })) return 1;
    std::ofstream(path_ + "/filler") << std::string(400'000, 'x');
    const std::string message(20'000, 'y');
    b.links->send(0, message);
    b.links->send(0, "small");
    if (!soon({&a, &b}, [&] { return b.says("No space left"); })) return 2;
    fs::remove(path_ + "/filler");
    if (!soon({&a, &b}, [&] { return a.seen[1].messages.size() == 2; })) return 3;
    if (a.seen[1].messages[0] != message || a.seen[1].messages[1] != "small") return 4;
    if (!b.links->why_unreached().empty()) return 5;
    if (mount("none", path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return 6;
    a.links->send(1, "late");
    if (!soon({&a, &b}, [&] { return a.says("Read-only"); })) return 7;
    mount("none", path_.c_str(), nullptr, MS_REMOUNT, nullptr);
    if (!soon({&a, &b}, [&] { return b.seen[0].messages.size() == 1; })) return 8;
    return b.seen[0].ups == 1 && a.seen[1].ups == 1 ? 0 : 9;
  });
  if (ended == 77) GTEST_SKIP() << "mounting a tmpfs needs root";
  EXPECT_EQ(ended, 0);
}

TEST_F(FolderLinksTest, CarryRoundsOfAWholeRun) {
  constexpr Rank kSize = 9;
  {
    std::vector<std::unique_ptr<Network>> servers;
    for (Rank rank = 0; rank < kSize; ++rank) {
      Result<std::unique_ptr<FolderLinks>> links = FolderLinks::open(settings(rank, kSize), path_);
      ASSERT_TRUE(links) << links.error().message;
      const MemberSettings member{rank, kSize, 2, 3000 * kMs, 6000 * kMs, 20'000 * kMs, 1000};
      servers.push_back(std::make_unique<Network>(member, std::move(*links), [] {}));
    }
    for (std::int64_t round = 0; round < 20; ++round)
      for (Rank rank = 0; rank < kSize; ++rank)
        servers[static_cast<std::size_t>(rank)]->contribute({0, round},
                                                            {Integers{Op::sum, {rank + round}}});
    for (auto& each : servers) {
      std::vector<Outcome> outcomes;
      const std::int64_t until = os::now_ns() + 30'000 * kMs;
      while (outcomes.size() < 20 && os::now_ns() < until) {
        for (Outcome& outcome : each->take_outcomes()) {
          each->confirm(outcome.sequence);
          outcomes.push_back(std::move(outcome));
        }
        os::sleep_ns(kMs);
      }
      ASSERT_EQ(outcomes.size(), 20U) << each->status().why_waiting;
      for (std::int64_t round = 0; round < 20; ++round)
        EXPECT_TRUE(outcomes[static_cast<std::size_t>(round)].columns ==
                    (Columns{Integers{Op::sum, {36 + kSize * round}}}));
    }
  }
  EXPECT_TRUE(is_empty());
}

}  // namespace
}  // namespace leat::comm
