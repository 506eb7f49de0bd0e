// SPDX-License-Identifier: Apache-2.0
#include "lib/os/folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/unit/os/temporary_folder.hpp"

namespace leat::os {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

class FolderTest : public TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    folder_ = Folder(base_);
    write_file(path_ / "victim", "precious");
  }

  const fs::path path_ = base_;
  Folder folder_{"."};
};

TEST_F(FolderTest, WritesAWholeFileInThePlaceOfLinks) {
  fs::create_symlink("victim", path_ / "ledger");
  fs::create_symlink("victim", path_ / ".ledger.part");
  EXPECT_EQ(folder_.write_whole("ledger", "new"), "");
  EXPECT_EQ(content_of(path_ / "ledger"), "new");
  EXPECT_FALSE(fs::is_symlink(path_ / "ledger"));
  EXPECT_EQ(content_of(path_ / "victim"), "precious");
}

TEST_F(FolderTest, MakesTheFolderAgainThatWasRemoved) {
  fs::remove_all(path_);
  EXPECT_EQ(folder_.write_whole("ledger", "new"), "");
  EXPECT_EQ(content_of(path_ / "ledger"), "new");
}

TEST_F(FolderTest, AppendsToFilesAndNotThroughLinks) {
  EXPECT_EQ(folder_.append("log", "a"), "");
  EXPECT_EQ(folder_.append("log", "b"), "");
  EXPECT_EQ(content_of(path_ / "log"), "ab");
  fs::create_symlink("victim", path_ / "link");
  EXPECT_NE(folder_.append("link", "c"), "");
  ASSERT_EQ(mkfifo((path_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(folder_.append("pipe", "c"), "");
  EXPECT_EQ(content_of(path_ / "victim"), "precious");
}

TEST_F(FolderTest, FollowsAnOwnLinkToAFileThatTheUserHasNamed) {
  fs::create_symlink("target", path_ / "link");
  EXPECT_TRUE(open_file_of_user(path_ / "link", true));
  EXPECT_TRUE(fs::exists(path_ / "target"));
  EXPECT_TRUE(open_file_of_user("/dev/null", true));
}

TEST_F(FolderTest, FollowsNoLinkOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "takes another user";
  fs::create_symlink("victim", path_ / "link");
  ASSERT_EQ(lchown((path_ / "link").c_str(), 54321, 54321), 0);
  EXPECT_FALSE(open_file_of_user(path_ / "link", true));
  EXPECT_EQ(errno, ELOOP);
  EXPECT_EQ(content_of(path_ / "victim"), "precious");
}

}  // namespace
}  // namespace leat::os
