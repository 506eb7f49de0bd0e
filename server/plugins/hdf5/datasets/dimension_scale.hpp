// SPDX-License-Identifier: Apache-2.0
// Dimension scales of HDF5: datasets that name the dimensions of others.
#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {

/// Makes a dataset one, called `title`.
void make_scale(hid_t dataset, const std::string& title);
bool is_scale(hid_t dataset);
std::string scale_title(hid_t scale);
/// The title of a dimension without coordinates, in the form of netCDF-4, with its length.
std::string no_coordinates(hsize_t length);
/// False for one with such a title.
bool has_coordinates(hid_t scale);

/// Names dimension `d` of a dataset by a scale, in the dataset's own list, the only one that readers
/// look at.
void name_dimension(hid_t dataset, unsigned d, hid_t scale, const std::string& what);

/// The other way round a scale lists those that it names, in an attribute that HDF5 makes anew for
/// each: so new ones are written together. In this file format an attribute ends at 64 KiB; what no
/// longer goes into it, and few where it has many, is named all the same.
class NamedByScale {
 public:
  void add(hid_t dataset, unsigned d);
  /// Those that were added since, into the list of `scale`.
  void write(hid_t scale);

 private:
  struct Entry {
    hobj_ref_t dataset;
    unsigned dimension;
  };
  static Id type();
  static std::vector<Entry> listed_by(hid_t scale);

  std::vector<Entry> new_;
};

/// Both ways, at once.
void attach_scale(hid_t dataset, unsigned d, hid_t scale, const std::string& what);
/// Address of the first scale of dimension `d`, HADDR_UNDEF for none.
haddr_t first_scale_of(hid_t dataset, unsigned d);
/// Paths of the scales of dimension `d`, without the first '/'. HDF5 looks for each in all of the
/// file.
std::vector<std::string> scales_of(hid_t dataset, unsigned d);
/// "" for none.
std::string label_of(hid_t dataset, unsigned d);

}  // namespace leat::hdf5
