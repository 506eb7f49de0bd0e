// SPDX-License-Identifier: Apache-2.0
// What an XML says, for leat_describe, which has the form.
#pragma once

#include <string>

#include "lib/model/model.hpp"

namespace leat::server {

std::string description_of(const model::Model& model);

/// Reads the XML and writes the description, or what is wrong, to `fd`. Returns the exit status.
int describe_to(const std::string& config, int fd);

}  // namespace leat::server
