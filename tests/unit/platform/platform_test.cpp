// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/platform/clock.hpp"
#include "lib/platform/futex.hpp"
#include "lib/platform/local_socket.hpp"
#include "lib/platform/memory.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/runtime_folder.hpp"

namespace leat::platform {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kSecond = 1'000'000'000;

class InFolder : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(base_); }
  void TearDown() override {
    unsetenv("LEAT_RUNTIME_DIR");
    fs::remove_all(base_);
  }
  std::string use(const std::string& name) {
    const std::string path = base_ + "/" + name;
    setenv("LEAT_RUNTIME_DIR", path.c_str(), 1);
    return path;
  }
  std::string base_ = testing::TempDir() + "leat-platform-" + std::to_string(getpid());
};

using RuntimeFolder = InFolder;

TEST_F(RuntimeFolder, IsMadeForItsOwnerOnly) {
  const std::string path = use("new");
  ASSERT_TRUE(runtime_folder());
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_TRUE(runtime_folder()) << "a second time";
}

TEST_F(RuntimeFolder, ThatOthersCanWriteToIsRefused) {
  fs::create_directory(use("open"));
  fs::permissions(base_ + "/open", fs::perms::all);
  EXPECT_FALSE(runtime_folder());
}

TEST_F(RuntimeFolder, ThatIsALinkOrAFileIsRefused) {
  fs::create_directory(base_ + "/real");
  fs::permissions(base_ + "/real", fs::perms::owner_all);
  fs::create_directory_symlink(base_ + "/real", use("link"));
  EXPECT_FALSE(runtime_folder());
  std::ofstream(use("file")) << "x";
  EXPECT_FALSE(runtime_folder());
}

std::vector<std::string> removed_segments;
void note_removed(const std::string& name) { removed_segments.push_back(name); }

TEST_F(RuntimeFolder, IsClearedOfDeadSessionsAndNotOfLiveOnes) {
  for (const std::string session : {"dead", "live"}) {
    std::ofstream(session_files(base_, session).live) << "segment-of-" << session;
    std::ofstream(session_files(base_, session).socket) << "";
  }
  // A lock dies with its process, and another process' lock is what a live server has.
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready) + pipe(done), 0);
  const pid_t server = fork();
  if (server == 0) {
    const UniqueFd lock = lock_file(session_files(base_, "live").live, 0);
    char byte = lock ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1) _exit(1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  removed_segments.clear();
  EXPECT_EQ(remove_dead_sessions(base_, note_removed), 1);
  EXPECT_EQ(removed_segments, std::vector<std::string>{"segment-of-dead"});
  EXPECT_FALSE(fs::exists(session_files(base_, "dead").socket));
  EXPECT_TRUE(fs::exists(session_files(base_, "live").socket));
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  EXPECT_EQ(remove_dead_sessions(base_, note_removed), 1);
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) close(fd);
}

TEST(SessionName, HasNoWayOutOfTheFolder) {
  EXPECT_TRUE(valid_session_name("mpi-123.4_x"));
  for (const char* bad : {"", "..", ".hidden", "a/b", "a b", "ä"}) {
    EXPECT_FALSE(valid_session_name(bad)) << bad;
  }
  EXPECT_FALSE(valid_session_name(std::string(65, 'a')));
}

using LocalSocket = InFolder;

TEST_F(LocalSocket, CarriesMessagesAndDescriptorsAndSaysWhenThePeerIsGone) {
  Result<UniqueFd> listener = listen_at(base_ + "/s");
  ASSERT_TRUE(listener);
  Result<UniqueFd> client = connect_to(base_ + "/s");
  ASSERT_TRUE(client);
  UniqueFd server = accept_own_user(listener->get());
  ASSERT_TRUE(server);

  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(send_message(server.get(), "hello", 6, kSecond, ends[1]));
  char text[6] = "";
  UniqueFd passed;
  ASSERT_EQ(receive_message(client->get(), text, sizeof text, kSecond, &passed), Received::message);
  EXPECT_STREQ(text, "hello");
  ASSERT_TRUE(passed);
  ASSERT_EQ(write(passed.get(), "x", 1), 1);
  ASSERT_EQ(read(ends[0], text, 1), 1);
  EXPECT_EQ(text[0], 'x');

  EXPECT_EQ(receive_message(client->get(), text, sizeof text, 1'000'000), Received::nothing);
  EXPECT_FALSE(peer_is_gone(client->get()));
  server.reset();
  EXPECT_TRUE(peer_is_gone(client->get()));
  EXPECT_EQ(receive_message(client->get(), text, sizeof text, kSecond), Received::closed);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(LocalSocket, WithoutAListenerIsAnErrorThatSaysSo) {
  EXPECT_EQ(connect_to(base_ + "/nobody").error().status, Status::ERROR_SERVER);
}

TEST(Process, ReportsThroughItsPipe) {
  Result<Child> child = spawn({"/bin/sh", "-c", "printf ready >&3"});
  ASSERT_TRUE(child);
  char text[16] = "";
  EXPECT_EQ(read(child->report.get(), text, sizeof text - 1), 5);
  EXPECT_STREQ(text, "ready");
  EXPECT_TRUE(reap(child->pid, 5 * kSecond));
}

TEST(Process, HasASessionOfItsOwn) {
  Result<Child> child = spawn({"/bin/sh", "-c", "exec sleep 30"});
  ASSERT_TRUE(child);
  EXPECT_EQ(getsid(child->pid), child->pid);
  EXPECT_FALSE(reap(child->pid, 1'000'000));
  kill(child->pid, SIGKILL);
  EXPECT_TRUE(reap(child->pid, 5 * kSecond));
}

TEST(Process, ThatDoesNotExistIsAnError) {
  const Result<Child> child = spawn({"/no/such/program"});
  ASSERT_FALSE(child);
  EXPECT_NE(child.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Memory, SizesAreWrittenForPeople) {
  EXPECT_EQ(format_bytes(320), "320 B");
  EXPECT_EQ(format_bytes(64ull << 20), "64 MiB");
  EXPECT_EQ(format_bytes(3ull << 29), "1.5 GiB");
}

TEST(Clock, PatienceEnds) {
  Patience patience(2'000'000);
  EXPECT_GT(patience.left_ns(), 0);
  const Deadline deadline = Deadline::in_ns(3'000'000);
  while (!deadline.passed()) relax();
  EXPECT_EQ(patience.left_ns(), 0);
  EXPECT_EQ(deadline.left_ns(), 0);
}

TEST(Futex, DoesNotSleepWhenTheWordHasChangedAndEndsAfterItsTime) {
  std::atomic<std::uint32_t> word{1};
  futex_wait(word, 0, 100 * kSecond);  // 1 is not 0: returns at once
  futex_wait(word, 1, 1'000'000);      // nobody wakes it
  std::thread waker([&word] {
    word = 2;
    futex_wake_all(word);
  });
  while (word == 1) futex_wait(word, 1, 100 * kSecond);
  waker.join();
}

}  // namespace
}  // namespace leat::platform
