// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace leat::hdf5 {

/// The name under which a file is made before it gets its own. Removes what has it at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  const std::string& path() const { return path_; }
  /// In the place of what is there. Throws when it cannot.
  void rename_to(const std::filesystem::path& name) {
    std::filesystem::rename(path_, name);
    keep();
  }
  /// It has its name.
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

}  // namespace leat::hdf5
