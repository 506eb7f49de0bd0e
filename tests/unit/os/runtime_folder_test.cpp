// SPDX-License-Identifier: Apache-2.0
#include "lib/node/runtime_folder.hpp"

#include <sys/stat.h>

#include <fstream>

#include "tests/unit/os/temporary_folder.hpp"

namespace leat::os {
using namespace node;
namespace {

namespace fs = std::filesystem;

using RuntimeFolder = TemporaryFolder;

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

TEST_F(RuntimeFolder, OfAnotherUserIsRefused) {
  std::string foreign = "/usr";  // belongs to root
  if (geteuid() == 0) {
    foreign = base_ + "/foreign";
    fs::create_directory(foreign);
    fs::permissions(foreign, fs::perms::owner_all);
    ASSERT_EQ(chown(foreign.c_str(), 65534, 65534), 0);
  }
  setenv("LEAT_RUNTIME_DIR", foreign.c_str(), 1);
  const Result<std::string> folder = runtime_folder();
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find("another user"), std::string::npos);
  EXPECT_NE(folder.error().message.find("LEAT_RUNTIME_DIR"), std::string::npos);
}

TEST_F(RuntimeFolder, ThatCannotBeMadeIsAnErrorWithItsName) {
  const std::string path = use("missing/new");
  const Result<std::string> folder = runtime_folder();
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message.find(path + ": No such file"), std::string::npos);
}

TEST(SessionName, HasNoWayOutOfTheFolder) {
  EXPECT_TRUE(valid_session_name("mpi-123.4_x"));
  for (const char* bad : {"", "..", ".hidden", "a/b", "a b", "ä"}) {
    EXPECT_FALSE(valid_session_name(bad)) << bad;
  }
  EXPECT_FALSE(valid_session_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace leat::os
