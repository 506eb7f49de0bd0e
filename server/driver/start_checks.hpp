// SPDX-License-Identifier: Apache-2.0
// What is known when a server starts, and would else be said when it is too late.
#pragma once

#include <cstdint>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"

namespace leat::server {

/// Makes the folders that stores write to. An error says where the XML names one that cannot be.
Result<void> make_output_folders(const model::Model& model);

/// Whether this process may have the address space and the descriptors that it will need. A server
/// that is refused a thread or a page later could say nothing, and so would the next one.
Result<void> check_limits(const model::Model& model, std::int32_t node_ranks);

}  // namespace leat::server
