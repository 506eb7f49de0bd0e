// SPDX-License-Identifier: Apache-2.0
// The Python side of Leat, as programs start it: <libdir>/leat/python/launch.py <tool>.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.hpp"

namespace leat::server {

/// Path of launch.py, beside the installation that the running program is part of.
std::string python_launcher();

/// Path of the interpreter that `launch.py` may be given to. Fails when there is none, or no
/// launch.py: the message says what to do. `packages`: that it needs, "h5py".
Result<std::string> find_python(const std::string& interpreter, const std::string& packages);

/// Runs `launch.py words...` with `input` as its standard input; what it writes to standard output.
/// Fails as platform::run_program does.
Result<std::string> run_python_tool(const std::string& interpreter,
                                    const std::vector<std::string>& words, const std::string& input,
                                    double seconds);

}  // namespace leat::server
