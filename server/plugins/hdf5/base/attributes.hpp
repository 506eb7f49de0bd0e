// SPDX-License-Identifier: Apache-2.0
// Attributes of HDF5 objects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

/// Text attribute, of UTF-8.
void set_attribute(hid_t object, const char* name, const std::string& value);
void set_attribute(hid_t object, const char* name, const char* value);
/// The same with its bytes in the object itself: what a file is can be read without the heap, in
/// which damage makes the HDF5 library search for ever.
void set_fixed_attribute(hid_t object, const char* name, const std::string& value);
/// Value of one of these; "" when there is none, or of another kind.
std::string fixed_attribute(hid_t object, const char* name);
void set_attribute(hid_t object, const char* name, std::int64_t value);
void set_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values);
void set_attribute(hid_t object, const char* name, const std::vector<std::int8_t>& values);
/// Value of an attribute that is a whole number, or `otherwise` when there is none.
std::int64_t integer_attribute(hid_t object, const char* name, std::int64_t otherwise);
/// Value of a text attribute; throws when it is none.
std::string text_attribute(hid_t object, const char* name);
/// "_FillValue" as netCDF has it: one value of the dataset's own type.
void set_fill_attribute(hid_t dataset, hid_t type, const std::vector<std::uint8_t>& fill);

}  // namespace leat::hdf5
