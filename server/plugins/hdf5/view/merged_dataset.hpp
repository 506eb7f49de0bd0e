// SPDX-License-Identifier: Apache-2.0
// One dataset of a view, as one of a plain file.
#pragma once

#include <functional>
#include <string>

#include "server/plugins/hdf5/base/handle.hpp"
#include "server/plugins/hdf5/view/sources.hpp"

namespace leat::hdf5 {

/// Creates it, without values: chunked and compressed as its part is, but for what would lose
/// digits once more. `rows`: what rows of the view are called after.
Id create_merged(hid_t source, hid_t file, const std::string& path, const std::string& rows,
                 Sources* sources);
/// In pieces; `copied` is told of the bytes of each.
void copy_values(hid_t source, hid_t target, const std::function<void(std::uint64_t)>& copied);
std::uint64_t bytes_of_values(hid_t dataset);

}  // namespace leat::hdf5
