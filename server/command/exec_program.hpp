// SPDX-License-Identifier: Apache-2.0
// How a verb becomes the program that does its work.
#pragma once

#include <string>
#include <vector>

namespace leat::command {

/// Goes on as another program, with these arguments behind its name. Returns only when that cannot
/// be, with the exit code; the reason is said on standard error, after "leat <verb>: ".
int exec_program(const std::string& verb, const std::string& program,
                 const std::vector<std::string>& arguments);

/// The same of a program that is told another name of itself: the first of the words.
int exec_named(const std::string& verb, const std::string& program,
               const std::vector<std::string>& words);

/// Goes on as the program <verb>-hdf5 beside the plugin that has written the files, of which `leat`
/// knows nothing.
int exec_store_program(const std::string& verb, const std::vector<std::string>& arguments);

}  // namespace leat::command
