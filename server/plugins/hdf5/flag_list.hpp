// SPDX-License-Identifier: Apache-2.0
// Yes or no for each iteration, in the form that CF gives flags. Source: CF Conventions 1.8,
// section 3.5, "Flags".
#pragma once

#include <string>

#include "server/plugins/hdf5/writer.hpp"

namespace leat::hdf5 {

/// A list of int8 along the iterations, 1 or 0, of `length` zeros when it is new. `about` is its
/// long_name; `meanings`: a word for 0 and one for 1.
Dataset flag_list(const Place& place, const std::string& name, const std::string& about,
                  const std::string& meanings, hsize_t length = 0);

}  // namespace leat::hdf5
