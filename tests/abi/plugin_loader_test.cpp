// SPDX-License-Identifier: Apache-2.0
// What the loader refuses, and that it refuses it before any code of the plugin runs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "server/plugin_loader.hpp"

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

TEST_F(PluginLoader, SaysWhereItLookedForABuiltInPlugin) {
  const Result<std::string> found = find_builtin("no-such-type");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("leat/plugins/no-such-type.so"), std::string::npos);
}

}  // namespace
}  // namespace leat::server
