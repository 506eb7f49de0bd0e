// SPDX-License-Identifier: Apache-2.0
// What <option> of a <store> says, as numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/include/plugin.hpp"

namespace leat::analytics {

/// A number; nothing where the option is not given. Throws std::invalid_argument with a sentence
/// that names the option when it is none, is not finite, or is outside.
std::optional<double> number_option(const leat_run& run, const char* name, double least,
                                    double most);
/// A whole number, or `otherwise`.
std::int64_t whole_option(const leat_run& run, const char* name, std::int64_t otherwise,
                          std::int64_t least, std::int64_t most);
/// As number_option(), for one that must be there.
double needed_option(const leat_run& run, const char* name, double least, double most);
/// Numbers with commas between them; none where the option is not given.
std::vector<double> list_option(const leat_run& run, const char* name);

}  // namespace leat::analytics
