// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/tcp_links.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/comm/hello.hpp"
#include "lib/os/clock.hpp"

namespace leat::comm {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000, kSecond = 1'000 * kMillisecond;
constexpr std::int64_t kLeastPause = 20 * kMillisecond, kMostPause = 500 * kMillisecond;
constexpr std::int64_t kHelloLimit = 5 * kSecond;
constexpr double kStrangersPerSecond = 50;
constexpr int kMostAtOnce = 64;           // new connections, before others have their turn
constexpr std::size_t kMostUnknown = 64;  // connections whose other end is not known yet

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

std::optional<Address> address_of(const std::string& text, std::uint16_t port) {
  Address address;
  auto* const four = reinterpret_cast<sockaddr_in*>(&address.bytes);
  auto* const six = reinterpret_cast<sockaddr_in6*>(&address.bytes);
  if (inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address.size = sizeof *four;
  } else if (inet_pton(AF_INET6, text.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    address.size = sizeof *six;
  } else {
    return std::nullopt;
  }
  return address;
}

std::string shown(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const auto* const four = reinterpret_cast<const sockaddr_in*>(&address);
  const auto* const six = reinterpret_cast<const sockaddr_in6*>(&address);
  const void* const bytes = address.ss_family == AF_INET
                                ? static_cast<const void*>(&four->sin_addr)
                                : static_cast<const void*>(&six->sin6_addr);
  inet_ntop(address.ss_family, bytes, text, sizeof text);
  return text;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  return ntohs(own.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&own)->sin_port
                                        : reinterpret_cast<sockaddr_in6*>(&own)->sin6_port);
}

os::UniqueFd new_socket(int family) {
  return os::UniqueFd(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

void set_up(int socket, std::int64_t silence_ns) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence_ns / kMillisecond));
}

Error network_error(const std::string& what, int error) {
  return {Status::ERROR_SERVER, what + ": " + std::strerror(error)};
}

}  // namespace

TcpLinks::TcpLinks(const Settings& settings, Credential credential)
    : settings_(settings), credential_(std::move(credential)) {}

Result<std::uint16_t> TcpLinks::listen(const std::vector<std::string>& addresses) {
  std::uint16_t port = 0;
  for (const std::string& text : addresses) {
    const std::optional<Address> address = address_of(text, port);
    if (!address) return Error{Status::ERROR_CONFIG, "\"" + text + "\" is no address of a network"};
    os::UniqueFd listener = new_socket(address->bytes.ss_family);
    if (address->bytes.ss_family == AF_INET6) set(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (!listener ||
        bind(listener.get(), reinterpret_cast<const sockaddr*>(&address->bytes), address->size) !=
            0 ||
        ::listen(listener.get(), SOMAXCONN) != 0)
      return network_error("cannot listen at " + text, errno);
    port = port_of(listener.get());
    listeners_.push_back(std::move(listener));
  }
  return port;
}

void TcpLinks::set_cards(const std::vector<Card>& cards) {
  for (const Card& each : cards) cards_[each.rank] = each;
}

// ---- whom we connect to ----

void TcpLinks::want(std::optional<Rank> peer, std::int64_t now_ns) {
  if (peer == wanted_) return;
  wanted_ = peer;
  next_try_ns_ = now_ns;
  pause_ns_ = kLeastPause;
  next_address_ = 0;
  why_unreached_.clear();
  for (std::size_t i = connections_.size(); i-- > 0;)
    if (connections_[i].is_ours && connections_[i].peer != peer) close(i, "");
}

TcpLinks::Connection* TcpLinks::link_to(Rank peer) {
  for (Connection& each : connections_)
    if (each.is_up && each.peer == peer && !each.is_over) return &each;
  return nullptr;
}

// Of the one link that this server makes: under way, or there.
bool TcpLinks::is_trying() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const Connection& each) { return each.is_ours; });
}

void TcpLinks::connect(std::int64_t now_ns) {
  if (!wanted_ || now_ns < next_try_ns_ || link_to(*wanted_) || is_trying()) return;
  const auto card = cards_.find(*wanted_);
  next_try_ns_ = now_ns + pause_ns_;
  pause_ns_ = std::min(2 * pause_ns_, kMostPause);
  if (card == cards_.end() || card->second.addresses.empty()) {
    why_unreached_ = "nothing is known of where server " + std::to_string(*wanted_) + " is";
    return;
  }
  const auto& addresses = card->second.addresses;
  const std::string& text = addresses[next_address_++ % addresses.size()];
  const std::optional<Address> address = address_of(text, card->second.port);
  if (!address) return;
  os::UniqueFd made = new_socket(address->bytes.ss_family);
  if (!made) return;
  set_up(made.get(), settings_.silence_ns);
  const int result =
      ::connect(made.get(), reinterpret_cast<const sockaddr*>(&address->bytes), address->size);
  if (result != 0 && errno != EINPROGRESS) {
    why_unreached_ = text + ":" + std::to_string(card->second.port) + ": " + std::strerror(errno);
    return;
  }
  connections_.push_back({.socket = std::move(made),
                          .tls = TlsStream(credential_, TlsStream::Side::connects),
                          .is_ours = true,
                          .peer = wanted_,
                          .since_ns = now_ns});
}

// ---- who connects to us ----

bool TcpLinks::Allowance::take(std::int64_t now_ns) {
  const double passed = static_cast<double>(now_ns - at_ns) / static_cast<double>(kSecond);
  left = std::min(kStrangersPerSecond, left + passed * kStrangersPerSecond);
  at_ns = now_ns;
  if (left < 1) return false;
  left -= 1;
  return true;
}

bool TcpLinks::is_of_a_card(const sockaddr_storage& from) const {
  const std::string text = shown(from);
  return std::any_of(cards_.begin(), cards_.end(), [&text](const auto& card) {
    return std::count(card.second.addresses.begin(), card.second.addresses.end(), text) > 0;
  });
}

// Of servers of the run all are looked at; what comes from elsewhere may be a server by another of its addresses.
void TcpLinks::accept_some(int listener, std::int64_t now_ns) {
  for (int i = 0; i < kMostAtOnce; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    os::UniqueFd socket(
        accept4(listener, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      const bool is_short =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (is_short) deaf_until_ns_ = now_ns + 100 * kMillisecond;
      return;
    }
    const auto unknown = std::count_if(connections_.begin(), connections_.end(),
                                       [](const Connection& each) { return !each.is_up; });
    if (!is_of_a_card(from) &&
        (static_cast<std::size_t>(unknown) >= kMostUnknown || !strangers_.take(now_ns))) {
      ++refused_;
      why_refused_ = "too many connections from " + shown(from);
      continue;
    }
    set_up(socket.get(), settings_.silence_ns);
    connections_.push_back({.socket = std::move(socket),
                            .tls = TlsStream(credential_, TlsStream::Side::accepts),
                            .is_connected = true,
                            .since_ns = now_ns});
  }
}

bool TcpLinks::take_hello(Connection* connection, const std::string& message) {
  const std::optional<Hello> theirs = hello_in(message);
  const Hello own{settings_.self, connection->peer.value_or(-1), settings_.size, settings_.run};
  const std::string why = why_no_peer(theirs, own);
  if (!why.empty()) return refuse(connection, why);
  if (!connection->is_ours) connection->tls.send(hello_text_for(theirs->from));
  for (Connection& each : connections_)  // of a server that was started anew
    each.is_over |= &each != connection && each.is_up && each.peer == theirs->from;
  connection->peer = theirs->from;
  connection->is_up = true;
  pause_ns_ = kLeastPause;
  if (connection->is_ours) why_unreached_.clear();
  events_.push_back({LinkEvent::Kind::up, theirs->from, {}});
  return true;
}

std::string TcpLinks::hello_text_for(Rank to) const {
  return hello_text({settings_.self, to, settings_.size, settings_.run});
}

bool TcpLinks::refuse(Connection* connection, std::string why) {
  ++refused_;
  why_refused_ = std::move(why);
  if (connection->is_ours) why_unreached_ = why_refused_;
  return false;
}

// ---- bytes ----

void TcpLinks::send(Rank to, std::string_view message) {
  Connection* const link = link_to(to);
  if (link && !link->tls.send(message)) link->is_over = true;
}

bool TcpLinks::take_messages(Connection* connection) {
  for (std::string& each : connection->tls.take_messages()) {
    if (connection->is_over) return false;
    if (!connection->is_up) {
      if (!take_hello(connection, each)) return false;
    } else {
      events_.push_back({LinkEvent::Kind::message, *connection->peer, std::move(each)});
    }
  }
  return true;
}

bool TcpLinks::read(Connection* connection) {
  char bytes[65536];
  while (true) {
    const ssize_t size = recv(connection->socket.get(), bytes, sizeof bytes, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (size <= 0) {
      if (!connection->is_up) refuse(connection, "it has closed the connection");
      return false;
    }
    const bool good = connection->tls.take_in({bytes, static_cast<std::size_t>(size)});
    if (!take_messages(connection)) return false;
    if (!good) {
      if (!connection->is_up) refuse(connection, connection->tls.why_broken());
      write(connection);  // what TLS has to say of it
      return false;
    }
  }
}

bool TcpLinks::write(Connection* connection) {
  if (!connection->is_connected) return true;
  if (connection->is_ours && connection->tls.is_open() && !connection->said_hello) {
    connection->said_hello = true;
    connection->tls.send(hello_text_for(*connection->peer));
  }
  connection->unsent += connection->tls.take_out();
  std::size_t sent = 0;
  while (sent < connection->unsent.size()) {
    const ssize_t size = ::send(connection->socket.get(), connection->unsent.data() + sent,
                                connection->unsent.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size <= 0) return false;
    sent += static_cast<std::size_t>(size);
  }
  connection->unsent.erase(0, sent);
  return connection->unsent.size() <= settings_.most_unsent;
}

void TcpLinks::close(std::size_t index, std::string why) {
  Connection closed = std::move(connections_[index]);
  connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(index));
  if (closed.is_ours && !closed.is_up && why_unreached_.empty()) why_unreached_ = std::move(why);
  if (closed.is_up && !link_to(*closed.peer))
    events_.push_back({LinkEvent::Kind::down, *closed.peer, {}});
}

LinkEvents TcpLinks::poll(std::int64_t until_ns, int wake) {
  std::int64_t now_ns = os::now_ns();
  connect(now_ns);
  for (std::size_t i = connections_.size(); i-- > 0;) {
    Connection& each = connections_[i];
    const bool is_late = !each.is_up && now_ns - each.since_ns > kHelloLimit;
    if (each.is_over || is_late || !write(&each))
      close(i, is_late ? "it does not answer" : "it has closed the connection");
  }
  std::vector<pollfd> waiting{{wake, POLLIN, 0}};
  const short listens = now_ns < deaf_until_ns_ ? 0 : POLLIN;
  if (!listens) until_ns = std::min(until_ns, deaf_until_ns_);
  for (const auto& listener : listeners_) waiting.push_back({listener.get(), listens, 0});
  const std::size_t first = waiting.size();
  for (const Connection& each : connections_) {
    const bool writes = !each.is_connected || !each.unsent.empty();
    waiting.push_back(
        {each.socket.get(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
  }
  if (wanted_ && !is_trying()) until_ns = std::min(until_ns, std::max(next_try_ns_, now_ns));
  if (!events_.empty()) until_ns = now_ns;
  const std::int64_t wait_ns = std::clamp<std::int64_t>(until_ns - now_ns, 0, kSecond);
  const timespec wait{wait_ns / kSecond, wait_ns % kSecond};
  ppoll(waiting.data(), waiting.size(), &wait, nullptr);
  now_ns = os::now_ns();
  for (std::size_t i = connections_.size(); i-- > 0;) {
    Connection& each = connections_[i];
    const short seen = waiting[first + i].revents;
    if (!seen) continue;
    if (!each.is_connected) {
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(each.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) {
        close(i, std::strerror(error));
        continue;
      }
      each.is_connected = true;
    }
    const bool good = read(&each) && write(&each);
    if (!good) close(i, each.tls.why_broken());
  }
  for (std::size_t i = 1; i < first; ++i)
    if (waiting[i].revents) accept_some(waiting[i].fd, now_ns);
  return std::exchange(events_, {});
}

}  // namespace leat::comm
