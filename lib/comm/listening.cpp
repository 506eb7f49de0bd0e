// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/listening.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "lib/comm/addresses.hpp"
#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

constexpr int kBacklog = 512;
constexpr int kTries = 16;  // a port that is free at one address need not be so at the next

// SO_REUSEADDR: connections of a server that was killed keep its port for a minute, but not from this one.
Result<Listening> try_to_listen(const std::vector<std::string>& addresses, std::uint16_t port) {
  Listening listening{port, {}};
  for (const std::string& text : addresses) {
    std::optional<SocketAddress> address = socket_address(text, listening.port);
    if (!address) return Error{Status::ERROR_CONFIG, "\"" + text + "\" is no address of this node"};
    os::UniqueFd made(
        socket(address->bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->bytes.ss_family == AF_INET6)
      setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (!made || bind(made.get(), address->get(), address->size) != 0 ||
        listen(made.get(), kBacklog) != 0 ||
        getsockname(made.get(), address->get(), &address->size) != 0)
      return Error{Status::ERROR_SERVER,
                   "cannot listen at " + address->text() + ": " + os::errno_text(errno)};
    listening.port = address->port();
    listening.sockets.push_back(std::move(made));
  }
  return listening;
}

}  // namespace

Result<Listening> listen_at(const std::vector<std::string>& addresses, std::uint16_t port) {
  for (int i = 1;; ++i) {
    Result<Listening> listening = try_to_listen(addresses, port);
    if (listening || port != 0 || i == kTries) return listening;
  }
}

}  // namespace leat::comm
