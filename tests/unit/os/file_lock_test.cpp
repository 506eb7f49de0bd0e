// SPDX-License-Identifier: Apache-2.0
#include "lib/os/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "tests/unit/os/lock_holder.hpp"
#include "tests/unit/os/temporary_folder.hpp"

namespace leat::os {
namespace {

namespace fs = std::filesystem;

using LockFile = TemporaryFolder;

TEST_F(LockFile, HasOneHolderAndWaitsForItsEnd) {
  const std::string path = base_ + "/x.lock";
  LockHolder other(path);
  ASSERT_TRUE(other.holds());
  EXPECT_FALSE(lock_file(path, 5'000'000));
  other.end();
  EXPECT_TRUE(lock_file(path, 1'000'000'000));
}

TEST_F(LockFile, IsNotFollowedToAnotherPlace) {
  std::ofstream(base_ + "/target") << "precious";
  fs::create_symlink(base_ + "/target", base_ + "/x.lock");
  EXPECT_FALSE(lock_file(base_ + "/x.lock", 0));
  EXPECT_FALSE(try_lock(base_ + "/x.lock").lock);
}

TEST_F(LockFile, IsNotMadeByTrying) {
  const LockTry attempt = try_lock(base_ + "/x.lock");
  EXPECT_FALSE(attempt.lock);
  EXPECT_FALSE(attempt.held);
  EXPECT_FALSE(fs::exists(base_ + "/x.lock"));
}

TEST_F(LockFile, SaysWhenItIsHeld) {
  LockHolder other(base_ + "/x.lock");
  ASSERT_TRUE(other.holds());
  EXPECT_TRUE(try_lock(base_ + "/x.lock").held);
  other.end();
  EXPECT_TRUE(try_lock(base_ + "/x.lock").lock);
}

TEST_F(LockFile, ThatIsNewIsItsOwnersAlone) {
  const std::string path = base_ + "/new";
  const Result<UniqueFd> lock = make_locked_file(path);
  ASSERT_TRUE(lock);
  struct stat found {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  const Result<UniqueFd> again = make_locked_file(path);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("File exists"), std::string::npos);
}

// What a sweep does that takes the maker for dead, at every moment there is.
TEST_F(LockFile, ThatIsNewSurvivesSweepsThatTakeItAwayBeforeItIsLocked) {
  const std::string path = base_ + "/new";
  std::jthread sweeps([&](const std::stop_token& end) {
    while (!end.stop_requested()) {
      const LockTry attempt = try_lock(path);
      if (attempt.lock) unlink(path.c_str());
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const Result<UniqueFd> lock = make_locked_file(path);
    ASSERT_TRUE(lock) << lock.error().message;
    struct stat by_fd {
    }, by_path{};
    ASSERT_EQ(fstat(lock->get(), &by_fd), 0);
    ASSERT_EQ(stat(path.c_str(), &by_path), 0) << "removed while it was locked";
    ASSERT_EQ(by_fd.st_ino, by_path.st_ino);
    unlink(path.c_str());
  }
}

}  // namespace
}  // namespace leat::os
