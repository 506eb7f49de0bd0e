// SPDX-License-Identifier: Apache-2.0
// What killed servers leave behind goes; what belongs to a living one stays.
#include <signal.h>
#include <sys/wait.h>

#include <fstream>

#include "lib/platform/runtime_folder.hpp"
#include "tests/unit/platform/temporary_folder.hpp"

namespace leat::platform {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> removed_segments;
void note_removed(const std::string& name) { removed_segments.push_back(name); }

// Another process that holds a lock, as a server does, until it is killed: a lock dies with its
// process, and one's own says nothing.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const UniqueFd lock = lock_file(path, 0);
      const char answer = lock ? 'y' : 'n';
      if (write(ready[1], &answer, 1) != 1) _exit(1);
      for (;;) pause();
    }
    const UniqueFd reader(ready[0]), writer(ready[1]);
    char answer = 0;
    holds_ = read(reader.get(), &answer, 1) == 1 && answer == 'y';
  }
  ~Holder() { end(); }
  bool holds() const { return holds_; }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool holds_ = false;
};

class DeadSessions : public TemporaryFolder {
 protected:
  SessionFiles make(const std::string& session) {
    const SessionFiles files = session_files(base_, session);
    std::ofstream(files.live) << "segment-of-" << session;
    std::ofstream(files.socket) << "";
    removed_segments.clear();
    return files;
  }
};

TEST_F(DeadSessions, AreRemovedWithTheirSegmentsAndLiveOnesAreNot) {
  const SessionFiles dead = make("dead"), live = make("live");
  Holder server(live.live);
  ASSERT_TRUE(server.holds());
  EXPECT_EQ(remove_dead_sessions(base_, note_removed), 1);
  EXPECT_EQ(removed_segments, std::vector<std::string>{"segment-of-dead"});
  EXPECT_FALSE(fs::exists(dead.socket));
  EXPECT_FALSE(fs::exists(dead.live));
  EXPECT_TRUE(fs::exists(live.socket));
  EXPECT_TRUE(fs::exists(live.live));

  server.end();
  EXPECT_EQ(remove_dead_sessions(base_, note_removed), 1);
  EXPECT_TRUE(fs::is_empty(base_));
}

TEST_F(DeadSessions, LeaveNoLockOfAStartThatWasKilled) {
  std::ofstream(session_files(base_, "killed").lock) << "";
  const std::string starting = session_files(base_, "starting").lock;
  Holder client(starting);
  ASSERT_TRUE(client.holds());
  remove_dead_sessions(base_, note_removed);
  EXPECT_FALSE(fs::exists(session_files(base_, "killed").lock));
  EXPECT_TRUE(fs::exists(starting));
}

TEST_F(DeadSessions, ThatNeverGotASegmentAreRemovedToo) {
  make("early");
  std::ofstream(session_files(base_, "early").live, std::ios::trunc).flush();
  EXPECT_EQ(remove_dead_sessions(base_, note_removed), 1);
  EXPECT_TRUE(removed_segments.empty());
  EXPECT_TRUE(fs::is_empty(base_));
}

TEST_F(DeadSessions, AreTheOnlyThingThatIsRemoved) {
  std::ofstream(base_ + "/notes.txt") << "mine";
  EXPECT_EQ(remove_dead_sessions(base_, note_removed), 0);
  EXPECT_TRUE(fs::exists(base_ + "/notes.txt"));
  EXPECT_EQ(remove_dead_sessions(base_ + "/nowhere", note_removed), 0);
}

using LockFile = TemporaryFolder;

TEST_F(LockFile, HasOneHolderAndWaitsForItsEnd) {
  const std::string path = base_ + "/x.lock";
  Holder other(path);
  ASSERT_TRUE(other.holds());
  EXPECT_FALSE(lock_file(path, 5'000'000));
  other.end();
  EXPECT_TRUE(lock_file(path, 1'000'000'000));
}

TEST_F(LockFile, IsNotFollowedToAnotherPlace) {
  std::ofstream(base_ + "/target") << "precious";
  fs::create_symlink(base_ + "/target", base_ + "/x.lock");
  EXPECT_FALSE(lock_file(base_ + "/x.lock", 0));
}

}  // namespace
}  // namespace leat::platform
