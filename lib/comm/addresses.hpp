// SPDX-License-Identifier: Apache-2.0
// Addresses of nodes: those of this one, in the order in which others should try them, and what the system calls want.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"

namespace leat::comm {

/// "10.1.0.3", "2001:db8::1", "fe80::1%ib0", with a port, as system calls want it.
struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = sizeof(sockaddr_storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  std::uint16_t port() const;
  /// "10.1.0.3:4000", "[2001:db8::1]:4000".
  std::string text() const;
};
/// Empty when the text is no address, or of an interface that this node has not.
std::optional<SocketAddress> socket_address(const std::string& text, std::uint16_t port);

/// One of a node.
struct NodeAddress {
  std::string interface {};  ///< "ib0"
  std::string text{};
  bool is_loopback = false;
};

/// Which of them others should try, the best one first. `hint` says which ones come first: "", or interfaces, addresses and networks such
/// as "10.1.0.0/16", with commas between them. Then all others, those that are of one cable only last. Loopback is among
/// them when it was hinted at, or there is nothing else; addresses of one cable of IPv6 (fe80::) when they were, as "fe80::1%ib0",
/// since the interface must have that name on the other nodes too. An error when a part of the hint fits nothing.
Result<std::vector<std::string>> addresses_in_order(const std::vector<NodeAddress>& all,
                                                    const std::string& hint);
/// Of this node, of interfaces that are up.
Result<std::vector<std::string>> addresses_of_node(const std::string& hint);

}  // namespace leat::comm
