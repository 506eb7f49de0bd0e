// SPDX-License-Identifier: Apache-2.0
// The screens of `leat ls`, whose parts `leat ctl` shows too. What is shown is what the JSON has.
#pragma once

#include <string>

#include "server/cli/screen.hpp"

namespace leat::cli {

std::string file_screen(const Json& file, const Look& look);
std::string folder_screen(const Json& folder, const Look& look);
std::string session_screen(const Json& session, const Look& look);

/// What a session does now, without what it writes.
void add_status(const Json& session, Screen* screen);
void add_variables(const Json& variables, Screen* screen);
/// What became of everything written, without a title.
void add_ledger(const Json& ledger, Screen* screen);

/// What a reader of the file has to know of its state, in a sentence; "" when that is nothing.
std::string advice_on(const Json& file);

}  // namespace leat::cli
