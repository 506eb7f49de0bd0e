// SPDX-License-Identifier: Apache-2.0
// The command line of leatd.
#pragma once

#include <string>

#include "lib/model/model.hpp"
#include "server/driver/startup.hpp"

namespace leat::server {

// What an XML says, for leat_describe, which has the form.

std::string description_of(const model::Model& model);

/// Reads the XML and writes the description, or what is wrong, to `fd`. Returns the exit status.
int describe_to(const std::string& config, int fd);

/// Returns the exit status.
int run_command_line(int argc, char** argv, const HostProcess& host = {});

}  // namespace leat::server
