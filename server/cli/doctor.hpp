// SPDX-License-Identifier: Apache-2.0
// What `leat doctor` looks at: this machine, what is installed on it, and what may go into a report of a bug.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli {

enum class Health { ok, warn, bad };

// One line of the screen.
struct Finding {
  Health health = Health::ok;
  std::string what, found;
  std::string remedy{};  ///< what to do, unless it is ok
};

// What the run that one looks for needs: of its XML, or what one without an XML would have.
struct Need {
  std::uint64_t buffer_bytes = model::BufferFields{}.buffer_bytes;
  std::string interpreter = model::ScriptsFields{}.interpreter;
  bool scripts = false, hdf5 = false;
};
Need need_of(const model::Model& model);

// Each adds its lines.
void look_at_memory(const Need& need, std::vector<Finding>* findings);
void look_at_limits(const Need& need, std::vector<Finding>* findings);
void look_at_cores(std::vector<Finding>* findings);
void look_at_folders(std::vector<Finding>* findings);
void look_at_sessions(std::vector<Finding>* findings);
void look_at_network(std::vector<Finding>* findings);
void look_at_server(std::vector<Finding>* findings);
void look_at_hdf5(const Need& need, std::vector<Finding>* findings);
void look_at_python(const Need& need, std::vector<Finding>* findings);
void look_at_mpi(std::vector<Finding>* findings);

/// Makes `file`, a .tar.gz of `facts`, the XML `config` with its includes, and the logs, ledgers and
/// reports of runs in this folder; of `config` alone when it is not "". Returns the names in it.
Result<std::vector<std::string>> make_bundle(const std::string& file, const std::string& config,
                                             const Json& facts);

}  // namespace leat::cli
