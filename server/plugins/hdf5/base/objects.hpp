// SPDX-License-Identifier: Apache-2.0
// What is in an HDF5 file: objects and their names, attributes, types of elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

// Objects of an HDF5 file, their names, and parts of datasets.

/// For making files and groups: their members are known in the order in which they were made.
/// Without that netCDF opens a file for reading only. Groups that are made for a path have it from
/// the one above them.
Id file_creation();
Id group_creation();
/// For making an object under a path, of UTF-8: groups above it are made too.
Id link_creation();
/// A second name for what is there.
void link_hard(hid_t file, const std::string& there, const std::string& name);
void move_link(hid_t file, const std::string& from, const std::string& to);
/// Whether `file` has something of this name, which may be a path.
bool is_in(hid_t file, const std::string& name);
/// Whether that is a dataset.
bool is_dataset(hid_t file, const std::string& name);
/// Names of what is in `group`, but for soft links; `and_below`: and in groups in it, as paths.
std::vector<std::string> names_in(hid_t group, bool and_below);

/// Where an object of a file is: what it is known by under each of its names.
haddr_t address_of(hid_t object);
Id open_dataset(hid_t file, const std::string& name);
/// Extents of a dataset that is in `file`.
Shape extents_in(hid_t file, const std::string& name);

/// Text of UTF-8, of so many bytes or of H5T_VARIABLE.
Id text_type(std::size_t bytes);
/// Of one element when there are no extents. `most`: what they may grow to.
Id space_of(const Shape& extents, const Shape& most = {});
/// The space of a dataset with `count` elements from `start` on selected.
Id part_of(hid_t dataset, const Shape& start, const Shape& count, const std::string& what);
/// Reads them, as `type` in memory.
void read_part(hid_t dataset, hid_t type, const Shape& start, const Shape& count, void* to,
               const std::string& what);

// Attributes of HDF5 objects.

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

// Leat's element types in HDF5.

/// Type in memory and in the file, which are the same, so that nothing is converted. Complex
/// numbers are compounds of "r" and "i", as h5py and most others read them; LEAT_CHAR is a string
/// of one byte.
Id type_of(std::uint32_t leat_scalar);

/// What stands in a dataset where nobody wrote: NaN, the least signed or the greatest unsigned
/// number, '\0'. So large a number is seen to be no data; 0 would not be. One element of the type.
std::vector<std::uint8_t> fill_value(std::uint32_t leat_scalar);

}  // namespace leat::hdf5
