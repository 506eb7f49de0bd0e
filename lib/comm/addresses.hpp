// SPDX-License-Identifier: Apache-2.0
// By which addresses other nodes can reach this one.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.hpp"

namespace leat::comm {

/// `hint`: an interface, "ib0", or a network, "10.1.0.0/16"; "": all of the node but its loopback. Empty when the node has none;
/// an error when the hint fits nothing here.
Result<std::vector<std::string>> addresses_of_node(const std::string& hint);

}  // namespace leat::comm
