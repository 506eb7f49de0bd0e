// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/file_count.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "lib/os/child_process.hpp"
#include "lib/os/process.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/output/options.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

// A server of files that hangs must not keep the run from starting.
constexpr std::int64_t kLimitNs = 10'000'000'000;
constexpr const char* kLfs = "lfs";  // the program of Lustre; of PATH

// What it says; nothing where it is not there, or fails.
std::optional<std::string> asked(std::vector<std::string> words) {
  words.insert(words.begin(), os::find_program(kLfs));
  if (words[0].empty()) return std::nullopt;
  const Result<std::string> said = os::run_program(words, "", kLimitNs);
  return said ? std::optional(*said) : std::nullopt;
}

// Each file on one target, of which Lustre gives the next file another one: so that many files are on many targets, and none
// waits for two.
bool stripe_by_files(const std::string& folder) {
  return asked({"setstripe", "--stripe-count", "1", folder}).has_value();
}

int files_for_file_system(const leat_run& run, const Host& host) {
  const std::string folder = folder_of_parts(wanted_path(run), run.session);
  fs::create_directories(folder);
  const int targets = std::min(kMostFiles, active_targets(asked({"osts", folder}).value_or("")));
  if (targets == 0) {
    host.info(
        "files=\"auto\": " + folder +
        " is on no Lustre file system that `lfs` knows of: each server writes a file of its own");
    return 0;
  }
  const bool striped = stripe_by_files(folder);
  host.info("files=\"auto\": " + folder + " is on Lustre with " + std::to_string(targets) +
            " targets: the servers write as many files together, at most one each" +
            (striped ? ", each file on one target (lfs setstripe --stripe-count 1)"
                     : "; their stripes are those of the folder, `lfs setstripe` has failed"));
  return targets;
}

}  // namespace

// "0: scratch-OST0000_UUID ACTIVE", below a line "OBDS:".
int active_targets(const std::string& text) {
  std::istringstream lines(text);
  int targets = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_active = line.size() >= 7 && line.compare(line.size() - 7, 7, " ACTIVE") == 0;
    if (is_active && line.find("-OST") != std::string::npos) ++targets;
  }
  return targets;
}

int shared_files(const leat_run& run, const Host& host) {
  const std::string files = option(run.options, run.option_count, kFiles, kFilePerNode);
  if (files == kFilePerNode || !is_one_of_several_nodes(run)) return 0;
  return files == kFilesAuto ? files_for_file_system(run, host) : std::stoi(files);
}

}  // namespace leat::hdf5
