// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/output_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "lib/platform/process.hpp"

namespace leat::platform {
namespace {

namespace fs = std::filesystem;

// The folder itself, or the lowest one above it that is there.
fs::path lowest_there(fs::path path) {
  std::error_code error;
  while (path.has_relative_path() && !fs::exists(fs::symlink_status(path, error)))
    path = path.parent_path();
  return path;
}

std::string problem(const fs::path& wanted, const fs::path& there, const std::string& why) {
  const std::string of_it = "the output folder \"" + wanted.string() + "\" cannot be ";
  if (wanted == there) return of_it + "written to: " + why;
  return of_it + "made: \"" + there.string() + "\": " + why;
}

}  // namespace

std::string why_no_output_folder(const std::string& path) {
  std::error_code error;
  const fs::path wanted = fs::absolute(path.empty() ? "." : path, error).lexically_normal();
  const fs::path there = lowest_there(wanted);
  if (!fs::is_directory(there, error)) return problem(wanted, there, "it is not a folder");
  if (access(there.c_str(), W_OK | X_OK) == 0) return "";
  return problem(wanted, there, errno_text(errno));
}

std::string make_output_folder(const std::string& path) {
  std::string why = why_no_output_folder(path);
  if (!why.empty() || path.empty()) return why;
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return "the output folder \"" + path + "\" cannot be made: " + error.message();
  return why_no_output_folder(path);
}

}  // namespace leat::platform
