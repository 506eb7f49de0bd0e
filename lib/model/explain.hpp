// SPDX-License-Identifier: Apache-2.0
// What an XML says of one variable or store, in a sentence for people.
#pragma once

#include <cstdint>
#include <string>

#include "lib/model/model.hpp"

namespace leat::model {

/// "the mean of "u" over each 6 h": of a variable that the server makes.
std::string what_is_made(const Model& model, std::uint32_t variable);

/// What will be written of a variable or store of this name, and when; "" where there is none.
std::string explained(const Model& model, const std::string& name);

}  // namespace leat::model
