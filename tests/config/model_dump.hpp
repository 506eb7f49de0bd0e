// SPDX-License-Identifier: Apache-2.0
// A Model as lines of text, for the .expect files of good cases.
#pragma once

#include <string>

#include "lib/model/model.hpp"

namespace leat::model {

std::string dump(const Model& model);

}  // namespace leat::model
