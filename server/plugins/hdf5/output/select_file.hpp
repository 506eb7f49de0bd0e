// SPDX-License-Identifier: Apache-2.0
// The option select-file of a store with layout="damaris": `CELL_INDEX: PRESSURE, RS; FACE_INDEX: FLUX`.
// Values of PRESSURE and RS go to those places of the global array that CELL_INDEX has for them.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace leat::hdf5 {

inline constexpr const char* kSelectFile = "select-file";

/// For each variable the one with its places; nothing when the text is not of that form.
std::optional<std::map<std::string, std::string>> select_file_from(const std::string& text);

}  // namespace leat::hdf5
