// SPDX-License-Identifier: Apache-2.0
// The unit of a time: "s", or with a date to count from, "days since 2000-01-01".
#pragma once

#include <string>

namespace leat::model {

/// "", or why readers of the file could not tell its dates. Without the word "since" there are none.
/// Source: CF Conventions 1.8, section 4.4, and what xarray and cftime 1.6 read of it.
std::string why_no_date(const std::string& unit, const std::string& calendar);

}  // namespace leat::model
