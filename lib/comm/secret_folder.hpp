// SPDX-License-Identifier: Apache-2.0
// Files by which servers of a run tell each other secrets: in a folder that all nodes see, and nobody but this user.
#pragma once

#include <string>
#include <string_view>

#include "lib/os/descriptor.hpp"

namespace leat::comm {

// Each file has a mark in front, and the CRC-32C of all before it at its end: a network file system may show a part of it.

/// Makes it, mode 0700, when it is not there. The folder itself, no link to another one, and nobody's but this user's; else
/// empty, and why.
os::UniqueFd open_secret_folder(const std::string& path, std::string* why);
/// "" for what is not there, is no file of this user's, or is not whole.
std::string read_secret(int folder, const std::string& name, std::string_view mark);
/// Whole or not at all, mode 0600. "" or why it cannot be written.
std::string write_secret(int folder, const std::string& name, std::string_view mark,
                         const std::string& body);

}  // namespace leat::comm
