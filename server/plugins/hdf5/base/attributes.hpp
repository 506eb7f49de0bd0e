// SPDX-License-Identifier: Apache-2.0
// Attributes of HDF5 objects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

bool has_attribute(hid_t object, const std::string& name);
/// Nothing when there is none.
void remove_attribute(hid_t object, const std::string& name);

/// Text attribute, of UTF-8, its bytes in the object itself: what netCDF calls NC_CHAR. Tools that
/// know no other text (NCO, ncdump -t) read it, and so does who must not touch the heap of a file
/// in which damage makes the HDF5 library search for ever. Only one of more than 60,000 bytes lies in
/// the heap. One that is there is replaced; those of numbers are changed in place.
void set_attribute(hid_t object, const char* name, const std::string& value);
void set_attribute(hid_t object, const char* name, const char* value);
void set_attribute(hid_t object, const char* name, std::int64_t value);
void set_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values);
void set_attribute(hid_t object, const char* name, const std::vector<std::int8_t>& values);
void set_attribute(hid_t object, const char* name, const std::vector<double>& values);
/// "_FillValue" as netCDF has it: one value of the dataset's own type.
void set_fill_attribute(hid_t dataset, hid_t type, const std::vector<std::uint8_t>& fill);

/// Value of a text in the object itself; "" when there is none, or of another kind.
std::string fixed_attribute(hid_t object, const char* name);
/// Value of an attribute that is a whole number, or `otherwise` when there is none.
std::int64_t integer_attribute(hid_t object, const char* name, std::int64_t otherwise);
/// The numbers of a list.
std::vector<double> numbers_attribute(hid_t object, const char* name);
/// Value of a text attribute; throws when it is none.
std::string text_attribute(hid_t object, const char* name);
/// The same, or `otherwise` when there is none.
std::string text_attribute(hid_t object, const char* name, const std::string& otherwise);

}  // namespace leat::hdf5
