// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/listening.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

// A port that is free at the first address may be taken at the next one.
constexpr int kTriesOfPorts = 8;

int port_of_listener(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  return ntohs(own.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&own)->sin_port
                                        : reinterpret_cast<sockaddr_in6*>(&own)->sin6_port);
}

// Empty and errno when it cannot be had. The port of a server that has died is free at once, whatever is still under way there.
os::UniqueFd listener_at(const std::string& text, std::uint16_t port) {
  sockaddr_in four{};
  sockaddr_in6 six{};
  const bool is_four = inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1;
  if (!is_four && inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) != 1) {
    errno = EINVAL;
    return {};
  }
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  four.sin_port = six.sin6_port = htons(port);
  os::UniqueFd made(
      socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!is_four) setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  const auto* const address =
      is_four ? reinterpret_cast<const sockaddr*>(&four) : reinterpret_cast<const sockaddr*>(&six);
  const socklen_t size = is_four ? sizeof four : sizeof six;
  if (!made || bind(made.get(), address, size) != 0 || listen(made.get(), SOMAXCONN) != 0)
    return {};
  return made;
}

}  // namespace

Result<Listening> listen_at(const std::vector<std::string>& addresses, std::uint16_t port) {
  std::string why;
  for (int tries = 0; tries < kTriesOfPorts; ++tries) {
    Listening listening{port, {}};
    for (const std::string& each : addresses) {
      os::UniqueFd made = listener_at(each, listening.port);
      if (!made) {
        why = "cannot listen at " + each + ": " + os::errno_text(errno);
        break;
      }
      if (listening.port == 0)
        listening.port = static_cast<std::uint16_t>(port_of_listener(made.get()));
      listening.sockets.push_back(std::move(made));
    }
    if (listening.sockets.size() == addresses.size()) return listening;
    if (port != 0 || listening.sockets.empty()) break;
  }
  return Error{Status::ERROR_SYSTEM, why};
}

}  // namespace leat::comm
