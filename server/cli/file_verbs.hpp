// SPDX-License-Identifier: Apache-2.0
// The verbs convert, view, merge, xdmf and replay: each is told of files, and becomes a program.
#pragma once

#include <CLI/CLI.hpp>

namespace leat::cli {

// leat convert: an XML for Damaris as one for Leat.

void add_convert(CLI::App& app, int& exit_code);

// The verbs `leat view` and `leat merge`.

/// `leat view` and `leat merge`: the one output of a run on several nodes.
void add_view(CLI::App& app, int& exit_code);
void add_merge(CLI::App& app, int& exit_code);

// The verb `leat xdmf`.

void add_xdmf(CLI::App& app, int& exit_code);

// `leat replay FILE SCRIPT...`: scripts on a stored run. The work is done in Python:
// python-plugins/leat/scripting/replay.py.

/// Adds the verb; running it becomes another program, or sets `exit_code` when that cannot be
/// started.
void add_replay(CLI::App& app, int& exit_code);

}  // namespace leat::cli
