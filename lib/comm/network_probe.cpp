// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/network_probe.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

constexpr std::size_t kMostProbesAtOnce = 64, kMostOfOthers = 256;
constexpr std::int64_t kProbeSliceNs = 100'000'000;

int connect_socket(int socket, const std::string& address, std::uint16_t port) {
  sockaddr_in four{};
  sockaddr_in6 six{};
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  four.sin_port = six.sin6_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1)
    return connect(socket, reinterpret_cast<const sockaddr*>(&four), sizeof four);
  if (inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) != 1) return errno = EINVAL, -1;
  return connect(socket, reinterpret_cast<const sockaddr*>(&six), sizeof six);
}

bool is_six(const std::string& address) { return address.find(':') != std::string::npos; }

}  // namespace

NetworkProbe::NetworkProbe(const Meeting& meeting, Credential credential, Listening listening,
                           std::int64_t limit_ns)
    : meeting_(meeting),
      credential_(std::move(credential)),
      listening_(std::move(listening)),
      limit_ns_(limit_ns) {}

std::vector<Probed> NetworkProbe::try_all() {
  std::vector<Probed> waiting;
  for (Rank i = 1; i < meeting_.size(); ++i) {  // each begins with another one
    const Card& card =
        meeting_.cards[static_cast<std::size_t>((meeting_.self + i) % meeting_.size())];
    for (const std::string& each : card.addresses) waiting.push_back({card.rank, each, ""});
  }
  std::reverse(waiting.begin(), waiting.end());
  const std::size_t all = waiting.size();
  while (done_.size() < all) {
    const auto own = static_cast<std::size_t>(std::count_if(
        connections_.begin(), connections_.end(), [](const Connection& c) { return c.is_ours; }));
    for (std::size_t i = own; i < kMostProbesAtOnce && !waiting.empty(); ++i) {
      begin(waiting.back());
      waiting.pop_back();
    }
    step(kProbeSliceNs);
  }
  return std::exchange(done_, {});
}

void NetworkProbe::answer(std::int64_t ns, const std::function<bool()>& is_enough) {
  const os::Deadline deadline = os::Deadline::in_ns(ns);
  while (!deadline.passed() && !is_enough()) step(std::min(deadline.left_ns(), kProbeSliceNs));
}

void NetworkProbe::begin(const Probed& next) {
  Connection connection{
      .socket = os::UniqueFd(socket(is_six(next.address) ? AF_INET6 : AF_INET,
                                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
      .tls = TlsStream(credential_, TlsStream::Side::connects),
      .probed = next,
      .is_ours = true,
      .since_ns = os::now_ns()};
  connection.tls.send(hello_to(next.peer));
  const Card& card = meeting_.cards[static_cast<std::size_t>(next.peer)];
  if (connect_socket(connection.socket.get(), next.address, card.port) != 0 && errno != EINPROGRESS)
    return end(&connection, os::errno_text(errno));
  connections_.push_back(std::move(connection));
}

std::string NetworkProbe::hello_to(Rank peer) const {
  return "leat-probe " + std::to_string(meeting_.self) + " " + std::to_string(peer) + " " +
         meeting_.run;
}

void NetworkProbe::end(Connection* connection, std::string why_not) {
  connection->is_over = true;
  if (!connection->is_ours) return;
  connection->probed.why_not = std::move(why_not);
  done_.push_back(connection->probed);
}

void NetworkProbe::step(std::int64_t wait_ns) {
  std::vector<pollfd> waiting;
  for (const os::UniqueFd& each : listening_.sockets) waiting.push_back({each.get(), POLLIN, 0});
  for (const Connection& each : connections_) {
    const bool writes = !each.is_connected || !each.unsent.empty();
    waiting.push_back(
        {each.socket.get(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
  }
  poll(waiting.data(), waiting.size(), static_cast<int>(wait_ns / 1'000'000));
  const std::size_t listeners = listening_.sockets.size(), before = connections_.size();
  for (std::size_t i = 0; i < before; ++i)
    advance(&connections_[i], waiting[listeners + i].revents);
  std::erase_if(connections_, [](const Connection& each) { return each.is_over; });
  for (std::size_t i = 0; i < listeners; ++i)
    if (waiting[i].revents != 0) accept_others(waiting[i].fd);
}

void NetworkProbe::accept_others(int listener) {
  for (;;) {
    os::UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    if (connections_.size() >= kMostOfOthers) continue;
    connections_.push_back({.socket = std::move(socket),
                            .tls = TlsStream(credential_, TlsStream::Side::accepts),
                            .is_connected = true,
                            .since_ns = os::now_ns()});
  }
}

void NetworkProbe::advance(Connection* connection, short seen) {
  if (seen == 0) {
    if (os::now_ns() - connection->since_ns > limit_ns_)
      end(connection, connection->is_connected ? "it accepts connections and does not answer"
                                               : "timed out; a firewall?");
    return;
  }
  if (!connection->is_connected) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(connection->socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == ETIMEDOUT) return end(connection, "timed out; a firewall?");
    if (error != 0) return end(connection, os::errno_text(error));
    connection->is_connected = true;
  }
  exchange_bytes(connection);
}

void NetworkProbe::exchange_bytes(Connection* connection) {
  char bytes[16384];
  bool is_closed = false, is_good = true;
  for (;;) {
    const ssize_t got = recv(connection->socket.get(), bytes, sizeof bytes, 0);
    if (got <= 0) {
      is_closed = got == 0 || (errno != EAGAIN && errno != EINTR);
      break;
    }
    is_good = connection->tls.take_in({bytes, static_cast<std::size_t>(got)});
    if (!is_good) break;
  }
  take_messages(connection);
  if (connection->is_over) return;
  if (connection->is_connected && !is_closed) {
    connection->unsent += connection->tls.take_out();
    const ssize_t sent = send(connection->socket.get(), connection->unsent.data(),
                              connection->unsent.size(), MSG_NOSIGNAL);
    if (sent > 0) connection->unsent.erase(0, static_cast<std::size_t>(sent));
  }
  if (!is_good) end(connection, connection->tls.why_broken());
  if (is_good && is_closed) end(connection, "it has closed the connection");
}

void NetworkProbe::take_messages(Connection* connection) {
  for (const std::string& each : connection->tls.take_messages()) {
    int from = -1, to = -1, at = 0;
    const bool is_hello = std::sscanf(each.c_str(), "leat-probe %d %d %n", &from, &to, &at) == 2;
    if (!is_hello || each.substr(static_cast<std::size_t>(at)) != meeting_.run)
      return end(connection, "it is of another run");
    if (!connection->is_ours) {
      connection->tls.send(hello_to(from));  // who is here, whomever was meant
      continue;
    }
    const bool is_meant = from == connection->probed.peer;
    return end(connection,
               is_meant ? "" : "server " + std::to_string(from) + " answers there, another one");
  }
}

std::string interface_of_address(const std::string& address) {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(found, freeifaddrs);
  for (const ifaddrs* each = found; each; each = each->ifa_next) {
    const int family = each->ifa_addr ? each->ifa_addr->sa_family : AF_UNSPEC;
    if (family != AF_INET && family != AF_INET6) continue;
    const void* const bytes =
        family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(each->ifa_addr)->sin_addr)
            : static_cast<const void*>(&reinterpret_cast<sockaddr_in6*>(each->ifa_addr)->sin6_addr);
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(family, bytes, text, sizeof text);
    if (address == text) return each->ifa_name;
  }
  return "";
}

}  // namespace leat::comm
