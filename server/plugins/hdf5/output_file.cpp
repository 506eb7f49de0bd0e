// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output_file.hpp"

#include <filesystem>
#include <optional>
#include <stdexcept>

#include "server/plugins/hdf5/journal.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

std::string value(const leat_run& run, const char* name, const std::string& otherwise) {
  return option(run.options, run.option_count, name, otherwise);
}

std::string wanted_path(const leat_run& run) {
  const std::string folder = value(run, "folder", ".");
  if (!fs::is_directory(folder)) {
    throw std::runtime_error("the output folder \"" + fs::absolute(folder).string() + "\" " +
                             (fs::exists(folder) ? "is not a folder" : "does not exist") +
                             ": make it before the run, or change folder=\"...\" of the store");
  }
  const std::string file = value(run, "file", std::string(run.simulation) + ".h5");
  return (fs::path(folder) / file).lexically_normal();
}

// <name><addition><extension>: "run.h5" with ".1" is "run.1.h5".
fs::path with_addition(const fs::path& path, const std::string& addition) {
  return path.parent_path() / (path.stem().string() + addition + path.extension().string());
}

fs::path unused_name(const fs::path& path) {
  for (int number = 1;; ++number) {
    const fs::path name = with_addition(path, "." + std::to_string(number));
    if (!fs::exists(name)) return name;
  }
}

void make_room(const std::string& path, const std::string& exists, const Host& host) {
  if (!fs::exists(path)) return;
  if (finish_last_commit(path))
    host.info(path + ": its last commit, in which its writer was killed, is finished now");
  if (fs::is_directory(path)) throw std::runtime_error("cannot write " + path + ": it is a folder");
  if (exists == "replace") {
    fs::remove(path);
    return;
  }
  const fs::path kept = unused_name(path);
  fs::rename(path, kept);
  host.info(path + " was there already and is called " + kept.string() + " now");
}

// The lock of `*path`, or of another name when that is taken.
FileLock lock_for(std::string* path, const leat_run& run, const Host& host) {
  if (std::optional<FileLock> lock = FileLock::take(*path)) return std::move(*lock);
  const std::string wanted = *path;
  *path = with_addition(wanted, std::string("-") + run.session);
  host.warn(wanted + " is being written by another run; this run writes " + *path);
  if (std::optional<FileLock> lock = FileLock::take(*path)) return std::move(*lock);
  throw std::runtime_error(wanted + " and " + *path +
                           " are being written by others: give each store its own file=\"...\"");
}

}  // namespace

OutputFile::OutputFile(const leat_run& run, const Host& host)
    : OutputFile(run, host, wanted_path(run)) {}

OutputFile::OutputFile(const leat_run& run, const Host& host, const std::string& wanted)
    : path_(wanted), lock_(lock_for(&path_, run, host)) {
  make_room(path_, value(run, "exists", "keep"), host);
}

}  // namespace leat::hdf5
