// SPDX-License-Identifier: Apache-2.0
// Files of a folder, open as long as something is written to them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace leat::raw {

/// Throws std::runtime_error where something cannot be done.
class Files {
 public:
  /// `folder` is there.
  explicit Files(std::string folder);
  Files(const Files&) = delete;
  ~Files();

  /// Opens it, or makes it. Others may be able to write to the folder: no link is followed.
  int open(const std::string& name);
  /// It has no more bytes than these.
  void cut(const std::string& name, std::uint64_t bytes);
  /// What was written is on the disk.
  void sync() const;
  /// No more is written to those that are open.
  void close_all();
  /// Throws, by this errno of a write to one.
  [[noreturn]] void fail(int code) const;

 private:
  std::string folder_;
  int folder_fd_ = -1;
  std::map<std::string, int> open_;
};

}  // namespace leat::raw
