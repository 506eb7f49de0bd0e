// SPDX-License-Identifier: Apache-2.0
// A folder for one test, removed with all that is in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace leat::os {

class TemporaryFolder : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(base_); }
  void TearDown() override {
    unsetenv("LEAT_RUNTIME_DIR");
    std::filesystem::remove_all(base_);
  }
  /// Makes `name`, inside of the folder, the runtime folder to be.
  std::string use(const std::string& name) {
    const std::string path = base_ + "/" + name;
    setenv("LEAT_RUNTIME_DIR", path.c_str(), 1);
    return path;
  }
  const std::string base_ = testing::TempDir() + "leat-os-" + std::to_string(getpid());
};

}  // namespace leat::os
