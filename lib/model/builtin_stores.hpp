// SPDX-License-Identifier: Apache-2.0
// The stores that come with Leat. A test holds the list against the XSD.
#pragma once

#include <string_view>

namespace leat::model {

inline constexpr std::string_view kBuiltinStores[] = {"hdf5", "trace"};

}  // namespace leat::model
