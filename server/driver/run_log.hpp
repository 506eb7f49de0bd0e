// SPDX-License-Identifier: Apache-2.0
// Where a server says what it has to say, and what it can say at its start already.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "server/state/journal/names.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// Where a server says what it has to say: a file that is this run's alone, or standard error.

/// Of the <log file>; to be kept as long as the log is written. The log of another run is not
/// touched; the name that is taken instead is said where the simulation's own messages are. Has no
/// path where there is no file to be had: standard error, a device, a pipe.
OwnName name_of_log(const model::Model& model, const std::string& session, bool goes_on);

/// Goes on with the file, or begins it anew. A link is followed when it is this user's own, or
/// root's: others who may write to its folder cannot have the server write elsewhere. An error,
/// which says what to do, for files and links of others.
/// `node`: what lines begin with, by which this server's are told from those of others.
Result<std::shared_ptr<Log>> make_log(const model::Model& model, const OwnName& own, bool goes_on,
                                      const std::string& node);

// What is known when a server starts, and would else be said when it is too late.

/// Makes the folders that stores write to. An error says where the XML names one that cannot be.
Result<void> make_output_folders(const model::Model& model);

/// Whether this process may have the address space and the descriptors that it will need. A server
/// that is refused a thread or a page later could say nothing, and so would the next one.
Result<void> check_limits(const model::Model& model, std::int32_t node_ranks);

}  // namespace leat::server
