// SPDX-License-Identifier: Apache-2.0
// Which variables somebody wants, and when: stores, scripts, and other variables that are made of them.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model {

/// Variables that say where what is selected lies, or what is differentiated.
std::vector<std::uint32_t> coordinates_of(const Derived& derived);

/// By variable: n for iterations that n divides, 0 for one that nobody takes.
std::vector<std::uint32_t> wanted_steps(const Model& model);

}  // namespace leat::model
