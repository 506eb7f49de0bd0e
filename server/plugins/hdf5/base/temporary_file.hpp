// SPDX-License-Identifier: Apache-2.0
// A file that is made beside the one it replaces.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "server/plugins/hdf5/disk/file_place.hpp"

namespace leat::hdf5 {

/// A file that is made under a name of its own before it gets the right one: an empty one, new in
/// any case; what had the name, be it a link of somebody's, is removed. What has it at the end too.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : path_(path), place_(path) {
    place_.remove();
    fd_ = Descriptor(place_.make());
    if (!fd_.is_open())
      throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) place_.remove();
  }

  const std::string& path() const { return path_; }
  /// Leads to this file, whatever has its name by now.
  std::string open_path() const { return path_of_descriptor(fd_); }
  /// In the place of what is there. Throws when it cannot.
  void rename_to(const std::filesystem::path& name) {
    std::filesystem::rename(path_, name);
    keep();
  }
  /// It has its name.
  void keep() { path_.clear(); }

 private:
  std::string path_;
  FilePlace place_;
  Descriptor fd_;
};

}  // namespace leat::hdf5
