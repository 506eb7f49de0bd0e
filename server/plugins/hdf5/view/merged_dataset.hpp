// SPDX-License-Identifier: Apache-2.0
// One dataset of a view, as one of a plain file.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "server/plugins/hdf5/shape.hpp"

namespace leat::hdf5 {

/// HDF5 shows fill values where a part is missing. Throws when one is, which `view_folder` tells.
/// `known`: those that were looked for before.
void expect_sources(hid_t dataset, const std::filesystem::path& view_folder,
                    std::set<std::string>* known);
/// Creates it, without values: chunked and compressed as its part is.
Id create_merged(hid_t source, hid_t file, const std::string& path,
                 const std::filesystem::path& view_folder);
/// In pieces; `copied` is told of the bytes of each.
void copy_values(hid_t source, hid_t target, const std::function<void(std::uint64_t)>& copied);
std::uint64_t bytes_of_values(hid_t dataset);

}  // namespace leat::hdf5
