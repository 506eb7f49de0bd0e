// SPDX-License-Identifier: Apache-2.0
// What can be said of one dataset, whoever made it.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/tools/ls/facts.hpp"

namespace leat::hdf5 {

/// Of the datasets of a file by their addresses: to ask HDF5 for the name of one that was found by
/// a reference takes it a search of the whole file.
using Names = std::map<haddr_t, std::string>;

/// name, type, shape, dimensions, unit, description, bytes, stored_bytes, chunk, filters, parts.
/// `names` are those of dimension scales.
Json facts_of_dataset(hid_t file, const std::string& name, const Names& names);

/// "float64", "complex128", "text", ...
std::string type_name(hid_t type);

/// Whether it has such an attribute; false where that cannot be read.
bool says(hid_t object, const char* attribute);
/// "" when it is not there, or is no text.
std::string text_of(hid_t object, const char* attribute);
/// `otherwise` when it is not there, or is no number.
std::int64_t number_of(hid_t object, const char* attribute, std::int64_t otherwise);

/// A dataset of one dimension as integers; at most `most` from its start.
std::vector<std::int64_t> integers_in(hid_t dataset, std::uint64_t most = UINT64_MAX);

/// Element `row` of a dataset of one dimension: a number, a text, or null when there is none, it
/// cannot be read, is no number and no text, or the value that stands for "not set".
Json element(hid_t dataset, std::uint64_t row);
/// Whether its rows are texts, in characters.
bool is_list_of_texts(hid_t dataset);

}  // namespace leat::hdf5
