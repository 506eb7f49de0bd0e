// SPDX-License-Identifier: Apache-2.0
// Looks whether the run's file still has its name. Somebody may remove or rename it while it is
// written, with its folder or alone, or put another file in its place; what is written to it would
// go with the server then, and nobody would be told.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/disk/committed_file.hpp"
#include "server/plugins/hdf5/output/output_file.hpp"

namespace leat::hdf5 {

/// "10 iterations, 0 to 9"
std::string described_iterations(const std::vector<std::int64_t>& ascending);

class NameKeeper {
 public:
  /// Says which iterations are in the file.
  using Content = std::function<std::string()>;
  NameKeeper(OutputFile* output, CommittedFile* file, const Host& host)
      : output_(*output), file_(*file), host_(host) {}

  /// After a commit, or when one fails, as it does in a folder that is gone. When the file has lost
  /// its name, it gets one again with all that is in it (OutputFile::name_again), and the log says
  /// so. One system call when it has it. True when it has another name now, or its own again.
  bool look(const Content& content) { return !file_.named().has_its_name() && find_name(content); }
  /// The same for a file that has been found without a name, and could not get another one.
  void try_again(const Content& content) {
    if (!why_none_.empty()) find_name(content);
  }
  /// "", or what has become of the file and why it has no name now.
  const std::string& why_none() const { return why_none_; }

 private:
  bool find_name(const Content& content);

  OutputFile& output_;
  CommittedFile& file_;
  Host host_;
  std::string why_none_;
};

}  // namespace leat::hdf5
