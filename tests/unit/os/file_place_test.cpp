// SPDX-License-Identifier: Apache-2.0
#include "lib/os/file_place.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/unit/os/temporary_folder.hpp"

namespace leat::os {
namespace {

namespace fs = std::filesystem;

class FilePlaceTest : public TemporaryFolder {
 protected:
  std::string path(const std::string& name) const { return (fs::path(base_) / name).string(); }
};

TEST_F(FilePlaceTest, ANewFileHasItsNameWhenItIsPublishedAndReplacesNothing) {
  NewFile one, other;
  const FilePlace place(path("run.h5"));
  const UniqueFd first = one.make(place), second = other.make(place);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(place.exists());
  EXPECT_EQ(one.publish(first.get()), 0);
  EXPECT_TRUE(place.names(first.get()));
  EXPECT_EQ(other.publish(second.get()), EEXIST);
}

TEST_F(FilePlaceTest, NothingIsOpenedThroughALinkOrWaitedFor) {
  fs::create_symlink("victim", path("link"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(FilePlace(path("link")).open_or_make());
  EXPECT_EQ(errno, ELOOP);
  EXPECT_FALSE(FilePlace(path("pipe")).open(O_RDONLY));
  EXPECT_EQ(errno, EINVAL);
  EXPECT_TRUE(FilePlace(path("link")).is_no_file());
  std::string why;
  EXPECT_FALSE(open_file(path("pipe"), O_RDONLY, &why));
  EXPECT_EQ(why, "is a pipe, and no file");
  EXPECT_FALSE(fs::exists(path("victim")));
}

TEST_F(FilePlaceTest, AFolderThatIsNotThereIsTheErrorOfEverything) {
  const FilePlace place(path("no/run.h5"));
  EXPECT_EQ(place.folder().error(), ENOENT);
  EXPECT_FALSE(place.make());
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(place.beside(".lock").path(), path("no/.run.h5.lock"));
}

TEST_F(FilePlaceTest, ItStaysInItsFolderWhenThatIsRenamed) {
  fs::create_directory(path("a"));
  const FilePlace place(path("a/file"));
  fs::rename(path("a"), path("b"));
  ASSERT_TRUE(place.make());
  EXPECT_TRUE(fs::exists(path("b/file")));
  EXPECT_EQ(place.rename_to_new(place.called("other")), 0);
  EXPECT_TRUE(fs::exists(path("b/other")));
}

}  // namespace
}  // namespace leat::os
