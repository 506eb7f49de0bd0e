// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the nearest of the names that exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Edits (insert, delete, replace, swap of neighbours) that turn one name into the other; case
/// counts half.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name nearest to `name`: near enough to be a slip of the pen, else the only one that begins
/// with it or is its beginning ("warn" and "warning"); an empty string when there is none.
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);

/// `; did you mean "cells"?`, or `; there are: "a", "b", ...` when nothing is near, or "" when
/// there is no name at all.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names);

}  // namespace leat
