// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/part_files.hpp"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "lib/platform/file_lock.hpp"
#include "lib/platform/process.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_that_end_with(const std::string& ending, const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (path.ends_with(ending)) paths.push_back(path);
  }
  return paths;
}

}  // namespace

void remove_dead_parts(const std::string& folder) {
  const std::string ending = "." + platform::node_name() + ".part";
  for (const std::string& path : files_that_end_with(ending, folder)) {
    const platform::LockTry attempt = platform::try_lock(path);  // held while it is removed
    if (attempt.lock) unlink(path.c_str());
  }
}

}  // namespace leat::server
