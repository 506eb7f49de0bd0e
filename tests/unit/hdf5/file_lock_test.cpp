// SPDX-License-Identifier: Apache-2.0
// Where there are no locks: a file says who has another one, also after that process was killed.
#include "server/plugins/hdf5/disk/file_lock.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tests/unit/os/temporary_folder.hpp"

namespace {

bool has_locks = true;

}  // namespace

// In the place of the C library's own.
extern "C" int flock(int file, int operation) {
  static const auto real = reinterpret_cast<int (*)(int, int)>(dlsym(RTLD_NEXT, "flock"));
  if (has_locks) return real(file, operation);
  errno = ENOLCK;
  return -1;
}

namespace leat::hdf5 {
namespace {

constexpr int kAtATime = 4;
constexpr int kDeaths = 300;
constexpr int kTwoHaveIt = 3;

using WithoutLocks = os::TemporaryFolder;

// Takes the file as soon as it can, and dies with it.
[[noreturn]] void take_and_die(const std::string& path) {
  const std::string inside = path + ".inside";
  for (;;) {
    const std::optional<FileLock> lock = FileLock::take(path);
    if (!lock) continue;
    const int marker = open(inside.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (marker < 0) _exit(kTwoHaveIt);
    usleep(100);
    unlink(inside.c_str());
    _exit(0);
  }
}

TEST_F(WithoutLocks, OneHasAFileThoughOthersDiedWithIt) {
  has_locks = false;
  const std::string path = base_ + "/run.h5";
  int begun = 0, ended = 0, wrong = 0;
  while (ended < kDeaths) {
    for (; begun < kDeaths && begun < ended + kAtATime; ++begun)
      if (fork() == 0) take_and_die(path);
    int status = 0;
    ASSERT_GT(wait(&status), 0);
    ++ended;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++wrong;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(FileLock::take(path));
  has_locks = true;
}

}  // namespace
}  // namespace leat::hdf5
