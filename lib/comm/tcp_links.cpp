// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/tcp_links.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/text.hpp"
#include "lib/comm/hello.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000, kSecond = 1'000 * kMillisecond;
constexpr std::int64_t kLeastPause = 20 * kMillisecond, kMostPause = 500 * kMillisecond;
constexpr double kStrangersPerSecond = 500, kStrangersOfAHandshake = 10;
constexpr std::int64_t kDeafness = 20 * kMillisecond;
constexpr int kMostAtOnce = 64;            // new connections, before others have their turn
constexpr int kMostReads = 16;             // the same of reading
constexpr std::size_t kMostUnknown = 128;  // connections whose other end has not knocked yet

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

int error_of(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

TcpLinks::TcpLinks(const Settings& settings, Credential credential, std::int64_t handshake_ns)
    : settings_(settings), handshake_ns_(handshake_ns), credential_(std::move(credential)) {}

void TcpLinks::adopt(Listening listening) {
  for (os::UniqueFd& each : listening.sockets) {
    set_up(each.get(), settings_.silence_ns);  // and what it accepts
    listeners_.push_back(std::move(each));
  }
}

Result<std::uint16_t> TcpLinks::listen(const std::vector<std::string>& addresses,
                                       std::uint16_t port) {
  Result<Listening> listening = listen_at(addresses, port);
  if (!listening) return listening.error();
  port = listening->port;
  adopt(std::move(*listening));
  return port;
}

void TcpLinks::set_cards(const std::vector<Card>& cards) {
  for (const Card& each : cards) {
    if (cards_[each.rank].addresses != each.addresses) worked_.erase(each.rank);
    cards_[each.rank] = each;
    if (each.rank == wanted_) next_try_ns_ = 0;
  }
}

// ---- whom we connect to ----

void TcpLinks::want(std::optional<Rank> peer, std::int64_t now_ns) {
  if (peer == wanted_) return;
  wanted_ = peer;
  next_try_ns_ = now_ns;
  pause_ns_ = kLeastPause;
  failures_.clear();
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

// The next of its addresses, and a pause when all were tried.
void TcpLinks::connect(std::int64_t now_ns) {
  if (!wanted_ || now_ns < next_try_ns_ || link_to(*wanted_) || is_trying()) return;
  const Card& card = cards_[*wanted_];
  const std::size_t addresses = card.addresses.size();
  if (failures_.size() >= addresses) failures_.clear();
  if (failures_.size() + 1 >= addresses) {
    next_try_ns_ = now_ns + pause_ns_;
    pause_ns_ = std::min(2 * pause_ns_, kMostPause);
  }
  if (addresses == 0) {
    why_unreached_ = "nothing is known of where server " + std::to_string(*wanted_) + " is";
    return;
  }
  const std::size_t route = (worked_[*wanted_] + failures_.size()) % addresses;
  connect_to(card.addresses[route], card.port, route, now_ns);
}

void TcpLinks::connect_to(const std::string& text, std::uint16_t port, std::size_t route,
                          std::int64_t now_ns) {
  const std::optional<SocketAddress> address = socket_address(text, port);
  if (!address) return note_failure(text, "it is no address that this node can reach");
  os::UniqueFd made = new_socket(address->bytes.ss_family);
  if (made) set_up(made.get(), settings_.silence_ns);
  if (!made || (::connect(made.get(), address->get(), address->size) != 0 && errno != EINPROGRESS))
    return note_failure(address->text(), os::errno_text(errno));
  connections_.push_back({.socket = std::move(made),
                          .tls = TlsStream(credential_, TlsStream::Side::connects),
                          .address = *address,
                          .is_ours = true,
                          .route = route,
                          .peer = wanted_,
                          .since_ns = now_ns});
}

void TcpLinks::note_failure(const std::string& address, const std::string& why) {
  failures_.push_back(address + ": " + why);
  const std::string& node = cards_[*wanted_].name;
  why_unreached_ = "server " + std::to_string(*wanted_) + (node.empty() ? "" : " on node " + node) +
                   " cannot be reached: " + joined(failures_, "; ");
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

// Not for ever, however many there were.
void TcpLinks::Allowance::take_more(double more) {
  left = std::max(left - more, -kStrangersPerSecond);
}

bool TcpLinks::is_unknown(const Connection& connection) {
  return !connection.is_ours && !connection.tls.has_begun();
}

// The oldest gives way: a server says at once who it is, a stranger may say nothing.
void TcpLinks::make_place() {
  if (static_cast<std::size_t>(
          std::count_if(connections_.begin(), connections_.end(), is_unknown)) < kMostUnknown)
    return;
  const auto oldest = std::find_if(connections_.begin(), connections_.end(), is_unknown);
  refuse(&*oldest, "it has not said who it is, and others have come");
  close(static_cast<std::size_t>(oldest - connections_.begin()), "");
}

// More than there is an allowance for wait in the queue of the system, servers among them.
void TcpLinks::accept_some(int listener, std::int64_t now_ns) {
  for (int i = 0; i < kMostAtOnce; ++i) {
    if (!strangers_.take(now_ns)) {
      deaf_until_ns_ = now_ns + kDeafness;
      return;
    }
    SocketAddress from;
    os::UniqueFd socket(accept4(listener, from.get(), &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      const bool is_short =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      strangers_.give_back();
      if (is_short) deaf_until_ns_ = now_ns + 5 * kDeafness;
      return;
    }
    make_place();
    connections_.push_back({.socket = std::move(socket),
                            .tls = TlsStream(credential_, TlsStream::Side::accepts),
                            .address = from,
                            .is_connected = true,
                            .since_ns = now_ns});
  }
}

bool TcpLinks::take_hello(Connection* connection, const std::string& message) {
  const std::optional<Hello> theirs = hello_in(message);
  const Hello own{settings_.self, connection->peer.value_or(-1), settings_.size, settings_.run};
  const std::string why = why_no_peer(theirs, own);
  if (!why.empty()) return refuse(connection, why);
  if (!connection->is_ours) {
    strangers_.give_back();
    connection->tls.send(hello_text_for(theirs->from));
  }
  for (Connection& each : connections_)  // of a server that was started anew
    each.is_over |= &each != connection && each.is_up && each.peer == theirs->from;
  connection->peer = theirs->from;
  connection->is_up = true;
  if (connection->is_ours) {
    worked_[theirs->from] = connection->route;
    pause_ns_ = kLeastPause;
    failures_.clear();
    why_unreached_.clear();
  }
  events_.push_back({LinkEvent::Kind::up, theirs->from, {}});
  return true;
}

std::string TcpLinks::hello_text_for(Rank to) const {
  return hello_text({settings_.self, to, settings_.size, settings_.run});
}

bool TcpLinks::refuse(Connection* connection, const std::string& why) {
  connection->why_refused = why;
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
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t size = recv(connection->socket.get(), bytes, sizeof bytes, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (size <= 0) {
      if (!connection->is_up) refuse(connection, "it has closed the connection without a word");
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
  return true;
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

void TcpLinks::close(std::size_t index, const std::string& why) {
  Connection closed = std::move(connections_[index]);
  connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(index));
  const std::string& reason = closed.why_refused.empty() ? why : closed.why_refused;
  if (closed.is_ours && !closed.is_up && closed.peer == wanted_)
    note_failure(closed.address.text(), reason);
  if (!closed.is_ours && !closed.why_refused.empty()) {
    ++refused_;
    why_refused_ = closed.address.text() + ": " + reason;
    if (closed.tls.has_begun()) strangers_.take_more(kStrangersOfAHandshake);
  }
  if (closed.is_up && !link_to(*closed.peer))
    events_.push_back({LinkEvent::Kind::down, *closed.peer, {}});
}

// One address that leads nowhere must not cost so long that a server is missed.
std::int64_t TcpLinks::limit_ns(const Connection& connection) const {
  if (connection.is_up) return INT64_MAX;
  if (!connection.is_ours) return connection.since_ns + handshake_ns_;
  const std::int64_t part = settings_.silence_ns / (connection.is_connected ? 2 : 8);
  return connection.since_ns + std::max(part, kLeastPause);
}

void TcpLinks::close_what_is_over(std::int64_t now_ns) {
  for (std::size_t i = connections_.size(); i-- > 0;) {
    Connection& each = connections_[i];
    const bool is_late = now_ns > limit_ns(each);
    if (is_late) refuse(&each, each.is_ours ? "it does not answer" : "it has not said who it is");
    if (each.is_over || is_late || !write(&each)) close(i, "it has closed the connection");
  }
}

// Whatever has happened to its socket. False: it is to be closed, for `why`.
bool TcpLinks::take_part(Connection* connection, std::string* why) {
  if (!connection->is_connected) {
    if (const int error = error_of(connection->socket.get()); error != 0) {
      *why = os::errno_text(error);
      return false;
    }
    connection->is_connected = true;
  }
  const bool good = read(connection) && write(connection);
  if (!good) *why = connection->tls.why_broken();
  return good;
}

LinkEvents TcpLinks::poll(std::int64_t until_ns, int wake) {
  std::int64_t now_ns = os::now_ns();
  close_what_is_over(now_ns);
  connect(now_ns);
  std::vector<pollfd> waiting{{wake, POLLIN, 0}};
  const short listens = now_ns < deaf_until_ns_ ? 0 : POLLIN;
  if (!listens) until_ns = std::min(until_ns, deaf_until_ns_);
  for (const auto& listener : listeners_) waiting.push_back({listener.get(), listens, 0});
  const std::size_t first = waiting.size();
  for (const Connection& each : connections_) {
    const bool writes = !each.is_connected || !each.unsent.empty();
    waiting.push_back(
        {each.socket.get(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
    until_ns = std::min(until_ns, limit_ns(each));
  }
  if (wanted_ && !is_trying()) until_ns = std::min(until_ns, next_try_ns_);
  if (!events_.empty()) until_ns = now_ns;
  const std::int64_t wait_ns = std::clamp<std::int64_t>(until_ns - now_ns, 0, kMostSleepNs);
  const timespec wait{wait_ns / kSecond, wait_ns % kSecond};
  ppoll(waiting.data(), waiting.size(), &wait, nullptr);
  now_ns = os::now_ns();
  for (std::size_t i = connections_.size(); i-- > 0;) {
    std::string why;
    if (waiting[first + i].revents && !take_part(&connections_[i], &why)) close(i, why);
  }
  for (std::size_t i = 1; i < first; ++i)
    if (waiting[i].revents) accept_some(waiting[i].fd, now_ns);
  return std::exchange(events_, {});
}

}  // namespace leat::comm
