// SPDX-License-Identifier: Apache-2.0
// A plan in the words of a launcher, and in those of a batch system.
#pragma once

#include <string>
#include <vector>

#include "server/command/launch_plan.hpp"

namespace leat::command {

/// The launcher, its options, and the program with its arguments.
std::vector<std::string> launch_words(Launcher launcher, const LaunchPlan& plan);

/// As a shell reads it.
std::string shell_text(const std::vector<std::string>& words);

/// A file for `sbatch`, or (`batch` "pbs") for `qsub` of PBS Professional and OpenPBS, that asks for
/// whole nodes and runs the line.
std::string job_text(const std::string& batch, const LaunchPlan& plan, const std::string& line);

}  // namespace leat::command
