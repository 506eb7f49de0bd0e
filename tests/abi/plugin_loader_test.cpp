// SPDX-License-Identifier: Apache-2.0
// What the loader refuses, and that it refuses it before any code of the plugin runs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "server/pipeline/plugin_loader.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

class PluginLoader : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_);
    setenv("LEAT_TEST_TRACE", trace_.c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string refusal(const std::string& path) {
    const Result<LoadedPlugin> plugin = load_plugin(path);
    EXPECT_FALSE(plugin);
    if (plugin) return "";
    EXPECT_EQ(plugin.error().status, Status::ERROR_CONFIG);
    return plugin.error().message;
  }
  bool code_ran() const { return fs::exists(trace_); }

  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  std::string folder_ = testing::TempDir() + "leat-loader-" + std::to_string(getpid());
  std::string trace_ = folder_ + "/trace";
};

using testing::TempDir;

TEST_F(PluginLoader, RefusesAnotherAbiNamingBothAndRunsNothingOfIt) {
  const std::string why = refusal(LEAT_ODD_PLUGINS "/odd_abi.so");
  EXPECT_NE(why.find("plugin ABI 99"), std::string::npos) << why;
  EXPECT_NE(why.find("has ABI 1"), std::string::npos) << why;
  EXPECT_FALSE(code_ran());
}

TEST_F(PluginLoader, RefusesAnEntryThatIsTooShortAndRunsNothingOfIt) {
  EXPECT_NE(refusal(LEAT_ODD_PLUGINS "/odd_size.so").find("has 16 bytes"), std::string::npos);
  EXPECT_FALSE(code_ran());
}

TEST_F(PluginLoader, RefusesALibraryWithoutEntryAndRunsNothingOfIt) {
  EXPECT_NE(refusal(LEAT_ODD_PLUGINS "/odd_entry.so").find("does not export"), std::string::npos);
  EXPECT_FALSE(code_ran());
}

TEST_F(PluginLoader, RefusesAnEntryWithoutFunctions) {
  EXPECT_NE(refusal(LEAT_ODD_PLUGINS "/odd_functions.so").find("lacks one of"), std::string::npos);
}

TEST_F(PluginLoader, SaysWhatAFileIsThatIsNoLibrary) {
  EXPECT_NE(refusal(folder_ + "/missing.so").find("No such file"), std::string::npos);
  EXPECT_NE(refusal(write("text.so", "not a library")).find("not a shared library"),
            std::string::npos);
  EXPECT_NE(refusal(write("empty.so", "")).find("not a shared library"), std::string::npos);
  EXPECT_NE(refusal(folder_).find("not a shared library"), std::string::npos);
}

TEST_F(PluginLoader, SurvivesALibraryThatIsCutOffAnywhere) {
  std::ifstream whole(LEAT_ODD_PLUGINS "/odd_abi.so", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  ASSERT_GT(bytes.size(), 1000u);
  for (std::size_t length = 1; length < bytes.size(); length += 97) {
    EXPECT_FALSE(load_plugin(write("cut.so", bytes.substr(0, length))));
  }
  EXPECT_FALSE(code_ran());
}

TEST_F(PluginLoader, TakesAPluginOfThisAbi) {
  const Result<LoadedPlugin> plugin = load_plugin(LEAT_GOOD_PLUGIN);
  ASSERT_TRUE(plugin) << plugin.error().message;
  EXPECT_STREQ(plugin->plugin()->name, "discard");
}

std::string refusal_of_own(const std::string& path) {
  const Result<LoadedPlugin> plugin = load_own_plugin(path);
  return plugin ? "" : plugin.error().message;
}

class OwnPlugin : public PluginLoader {
 protected:
  void SetUp() override {
    PluginLoader::SetUp();
    fs::create_directory(home_);
    fs::copy_file(LEAT_GOOD_PLUGIN, library_);
    fs::permissions(library_, fs::perms::owner_all);
    fs::permissions(home_, fs::perms::owner_all);
  }
  const std::string home_ = folder_ + "/home";
  const std::string library_ = home_ + "/mine.so";
};

TEST_F(OwnPlugin, IsTaken) { EXPECT_EQ(refusal_of_own(library_), ""); }

TEST_F(OwnPlugin, ThatEverybodyMayChangeIsRefused) {
  fs::permissions(library_, fs::perms::others_write, fs::perm_options::add);
  const std::string why = refusal_of_own(library_);
  EXPECT_NE(why.find("mine.so may be changed by everybody"), std::string::npos) << why;
  EXPECT_NE(why.find("chmod o-w " + library_), std::string::npos) << why;
}

TEST_F(OwnPlugin, InAFolderThatEverybodyMayChangeIsRefusedStickyOrNot) {
  for (const fs::perms more : {fs::perms::none, fs::perms::sticky_bit}) {
    fs::permissions(home_, fs::perms::all | more);
    const std::string why = refusal_of_own(library_);
    EXPECT_NE(why.find("home may be changed by everybody"), std::string::npos) << why;
    EXPECT_NE(why.find("a folder of your own"), std::string::npos) << why;
  }
}

TEST_F(OwnPlugin, BehindALinkIsJudgedByWhereItIs) {
  const std::string link = folder_ + "/link.so";
  fs::create_symlink(library_, link);
  EXPECT_EQ(refusal_of_own(link), "");
  fs::permissions(home_, fs::perms::all);
  EXPECT_NE(refusal_of_own(link).find("home may be changed by everybody"), std::string::npos);
}

TEST_F(OwnPlugin, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user's";
  ASSERT_EQ(chown(library_.c_str(), 65534, 65534), 0);
  EXPECT_NE(refusal_of_own(library_).find("mine.so belongs to another user"), std::string::npos);
  ASSERT_EQ(chown(library_.c_str(), 0, 0), 0);
  ASSERT_EQ(chown(home_.c_str(), 65534, 65534), 0);
  EXPECT_NE(refusal_of_own(library_).find("home belongs to another user"), std::string::npos);
}

TEST_F(OwnPlugin, ThatIsMissingIsToldSo) {
  EXPECT_NE(refusal_of_own(folder_ + "/missing.so").find("No such file"), std::string::npos);
}

TEST_F(PluginLoader, SaysWhereItLookedForABuiltInPlugin) {
  const Result<std::string> found = find_builtin("no-such-type");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("leat/plugins/no-such-type.so"), std::string::npos);
}

}  // namespace
}  // namespace leat::server
