// SPDX-License-Identifier: Apache-2.0
// Links between the servers of a run by TCP and TLS: one to the parent of a server, and those that others
// make to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/comm/addresses.hpp"
#include "lib/comm/links.hpp"
#include "lib/comm/listening.hpp"
#include "lib/comm/tls.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::comm {

// Who connects says after the handshake which server it is, of which run, and whom it means; so does
// who is connected to. Strangers, from whatever node, are known by
// their first bytes, are bounded together, and are counted, the last one with its address. What cannot be sent is
// kept up to a limit; a server that takes nothing for so long that it is passed loses its link.
//
// The addresses of a server are tried in turn, from the one on that worked last; a connection that is not there after an eighth of
// `silence` gives way to the next.
class TcpLinks final : public Links {
 public:
  /// `handshake_ns`: who has not said who it is by then is refused.
  TcpLinks(const Settings& settings, Credential credential,
           std::int64_t handshake_ns = 5'000'000'000);

  /// Sockets that listen already.
  void adopt(Listening listening);
  /// At these addresses; see listen_at().
  Result<std::uint16_t> listen(const std::vector<std::string>& addresses, std::uint16_t port = 0);
  void set_cards(const std::vector<Card>& cards) override;
  void want(std::optional<Rank> peer, std::int64_t now_ns) override;
  void send(Rank to, std::string_view message) override;
  LinkEvents poll(std::int64_t until_ns, int wake) override;
  std::size_t most_bytes() const noexcept override { return TlsStream::kMostBytes; }
  const std::string& why_unreached() const noexcept override { return why_unreached_; }
  std::uint64_t refused() const noexcept override { return refused_; }
  const std::string& why_refused() const noexcept override { return why_refused_; }

 private:
  struct Connection {
    os::UniqueFd socket{};
    TlsStream tls;
    SocketAddress address{};    // of the other end
    bool is_ours = false;       // we have connected
    std::size_t route = 0;      // of ours: which address of the server
    bool is_connected = false;  // the socket
    bool said_hello = false;
    std::optional<Rank> peer{};  // known, or of ours: meant
    bool is_up = false;
    std::int64_t since_ns = 0;
    bool is_over = false;  // to be closed: another one has taken its place, or it takes nothing
    std::string why_refused{};
    std::string unsent{};
  };
  /// So many connections of strangers a second are looked at; those of servers are given back.
  struct Allowance {
    double left = 0;
    std::int64_t at_ns = 0;
    bool take(std::int64_t now_ns);
    void take_more(double more);
    void give_back() { left += 1; }
  };

  void connect(std::int64_t now_ns);
  void connect_to(const std::string& address, std::uint16_t port, std::size_t route,
                  std::int64_t now_ns);
  void note_failure(const std::string& address, const std::string& why);
  std::int64_t limit_ns(const Connection& connection) const;
  void close_what_is_over(std::int64_t now_ns);
  void accept_some(int listener, std::int64_t now_ns);
  void make_place();
  static bool is_unknown(const Connection& connection);
  bool take_part(Connection* connection, std::string* why);
  bool read(Connection* connection);
  bool write(Connection* connection);
  bool take_messages(Connection* connection);
  bool take_hello(Connection* connection, const std::string& message);
  std::string hello_text_for(Rank to) const;
  static bool refuse(Connection* connection, const std::string& why);
  void close(std::size_t index, const std::string& why);
  Connection* link_to(Rank peer);
  bool is_trying() const;

  Settings settings_;
  std::int64_t handshake_ns_;
  Credential credential_;
  std::vector<os::UniqueFd> listeners_;
  std::map<Rank, Card> cards_;
  std::vector<Connection> connections_;
  LinkEvents events_;

  std::optional<Rank> wanted_;
  std::map<Rank, std::size_t> worked_;  // which of a server's addresses
  std::vector<std::string> failures_;   // of its addresses, since all were tried
  std::int64_t next_try_ns_ = 0, pause_ns_ = 0;
  std::int64_t deaf_until_ns_ = 0;  // no descriptor for another connection, or too many strangers
  Allowance strangers_;
  std::uint64_t refused_ = 0;
  std::string why_refused_, why_unreached_;
};

}  // namespace leat::comm
