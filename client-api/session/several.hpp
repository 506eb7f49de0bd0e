// SPDX-License-Identifier: Apache-2.0
// Several arrays, or values, in one call: by names with commas between.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client-api/api/leat_build.h"
#include "client-api/session/failures.hpp"

namespace leat::client {

/// "nx, ny": without the blanks around each.
std::vector<std::string> names_in(std::string_view text);

/// Why there is not one of what was `given` for each name; "" where there is.
std::string why_not_each(std::string_view text, const std::vector<std::string>& names,
                         const char* named, std::size_t given, const char* what);

using OneArray = std::function<Status(const char* name, const leat_array* array)>;

/// One after the other, whatever becomes of those before. Returns the first error, whose message is kept; else the first status
/// that is not OK. Where there is not one array for each name, or a name comes twice, nothing is done; `loses`: the names are counted as lost then.
Status each_array(const Call& call, Failures& failures, const char* names, const leat_array* arrays,
                  std::int32_t count, bool loses, const OneArray& one);

}  // namespace leat::client
