// SPDX-License-Identifier: Apache-2.0
// Folders that a run writes to: made when they are not there.
#pragma once

#include <string>

namespace leat::platform {

/// "" when it is a folder that can be written to, or when such a one can be made; else what is in
/// the way. Changes nothing.
std::string why_no_output_folder(const std::string& path);

/// Makes it, and the folders above it. "" or why it cannot be written to.
std::string make_output_folder(const std::string& path);

}  // namespace leat::platform
