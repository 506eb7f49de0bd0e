// SPDX-License-Identifier: Apache-2.0
// In how many files the servers of a run write: the option files.
#pragma once

#include <string>

#include "server/include/plugin.hpp"

namespace leat::hdf5 {

/// 0: each server has files of its own. Once open: what "auto" has come to is said in the log.
int shared_files(const leat_run& run, const Host& host);

/// Object storage targets of a Lustre file system that `text` names, as `lfs osts` writes it, and that are at work.
int active_targets(const std::string& text);

}  // namespace leat::hdf5
