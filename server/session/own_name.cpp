// SPDX-License-Identifier: Apache-2.0
#include "server/session/own_name.hpp"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "lib/platform/file_lock.hpp"
#include "lib/platform/folder.hpp"
#include "lib/platform/process.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

// As many servers of one session may be on nodes that are called alike.
constexpr std::size_t kMostNames = 100'000;

}  // namespace

std::string with_addition(const std::string& path, const std::string& addition) {
  const fs::path whole = path;
  return (whole.parent_path() /
          (whole.stem().string() + "-" + addition + whole.extension().string()))
      .string();
}

std::string lock_of(const std::string& path) {
  const fs::path whole = path;
  return (whole.parent_path() / ("." + whole.filename().string() + ".lock")).string();
}

OwnName::OwnName(const std::string& wanted, const std::string& session, bool goes_on,
                 std::int64_t wait_ns) {
  const std::string aside = with_addition(wanted, session);
  std::vector<std::string> names{wanted, aside,
                                 with_addition(aside, platform::host_name())};  // another node's
  std::error_code error;
  if (goes_on && fs::exists(aside, error)) std::swap(names[0], names[1]);
  for (std::size_t i = 0; i < kMostNames; ++i) {
    path_ = i < names.size() ? names[i] : with_addition(names.back(), std::to_string(i - 1));
    if (take(path_, wait_ns)) break;
    wait_ns = 0;
  }
  if (path_ != wanted && !(goes_on && path_ == aside))
    why_another_ = wanted + " is being written by another run; this one writes " + path_;
}

// A run that is just ending may still have the lock.
bool OwnName::take(const std::string& path, std::int64_t wait_ns) {
  const fs::path lock = lock_of(path);
  platform::Folder(lock.has_parent_path() ? lock.parent_path().string() : ".")
      .remove_no_file(lock.filename().string());
  lock_ =
      platform::lock_file(lock_of(path), ::access(lock_of(path).c_str(), F_OK) == 0 ? wait_ns : 0);
  return lock_ || ::access(lock_of(path).c_str(), F_OK) != 0;
}

OwnName::~OwnName() {
  if (lock_) ::unlink(lock_of(path_).c_str());
}

}  // namespace leat::server
