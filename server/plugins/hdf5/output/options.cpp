// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/options.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "server/plugins/hdf5/disk/durability.hpp"
#include "server/plugins/hdf5/disk/io_choice.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"file",   "folder", "compression", "durability",
                                  "exists", "io",     "xdmf"};

}  // namespace

std::string why_no_option(const std::string& name, const std::string& value) {
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
    return "the hdf5 store has no option \"" + name +
           "\"; it has file, folder, compression, durability, exists, io and xdmf";
  if (name == "exists" && value != "keep" && value != "replace")
    return "option exists=\"" + value + "\": expected \"keep\" or \"replace\"";
  if (name == "xdmf" && value != "true" && value != "false")
    return "option xdmf=\"" + value + "\": expected \"true\" or \"false\"";
  try {
    if (name == "io") io_from(value);
    if (name == "durability") durability_from(value);
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::string why_no_folder(const std::string& folder) {
  if (folder.empty() || fs::is_directory(folder)) return "";
  return "the output folder \"" + fs::absolute(folder).string() + "\" " +
         (fs::exists(folder) ? "is not a folder" : "does not exist") +
         ": make it before the run, or change folder=\"...\" of the store";
}

void check_options(const leat_run& run) {
  for (std::uint64_t i = 0; i < run.option_count; ++i) {
    const std::string why = why_no_option(run.options[i].name, run.options[i].value);
    if (!why.empty()) throw std::runtime_error(why);
  }
  be_quiet();
  check_filters(run);
}

}  // namespace leat::hdf5
