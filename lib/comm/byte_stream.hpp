// SPDX-License-Identifier: Apache-2.0
// Much data between two processes of a run, by one connection: each end waits for the other, and no longer than it wants to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/comm/tls.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::comm {

// One end of a connection over which bytes go both ways, by TLS 1.3 with the credential of the run, or plain once both ends have
// proved that they have it. No byte is copied but by the system, and by TLS.
//
// One thread may write while another one reads. Who waits does so for `limit_ns` at most, in which not a byte has moved:
// a slow network is no dead one.
class ByteStream {
 public:
  /// The first of these addresses where somebody with the credential answers, each tried for its part of `limit_ns`.
  static Result<std::unique_ptr<ByteStream>> connect(const std::vector<std::string>& addresses,
                                                     std::uint16_t port,
                                                     const Credential& credential,
                                                     std::int64_t limit_ns);
  /// Who has connected to a socket that listens. An error when that is nobody with the credential.
  static Result<std::unique_ptr<ByteStream>> accept(os::UniqueFd socket,
                                                    const Credential& credential,
                                                    std::int64_t limit_ns);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;

  /// Once, by both ends at the same place of what they say: whether all that follows is plain.
  void settle(bool plain);
  bool is_plain() const noexcept { return plain_; }

  // False: it is of no use any more; see why_broken().
  bool write(const void* bytes, std::size_t count, std::int64_t limit_ns);
  bool read(void* bytes, std::size_t count, std::int64_t limit_ns);
  /// Whether there is something to read, waiting for it so long. True of a broken one, too.
  bool has_more_within(std::int64_t ns);
  /// From any thread: who waits gives up.
  void give_up() noexcept;
  bool is_given_up() const noexcept { return given_up_.load(std::memory_order_relaxed); }
  const std::string& why_broken() const noexcept { return why_broken_; }
  /// "10.1.0.3:4000", of the other end.
  const std::string& peer() const noexcept { return peer_; }

 private:
  enum class Wish { none, read, write };  // what is waited for before it can go on
  ByteStream(os::UniqueFd socket, std::string peer)
      : socket_(std::move(socket)), peer_(std::move(peer)) {}
  bool shake_hands(bool accepts, const Credential& credential, std::int64_t limit_ns);
  std::ptrdiff_t move_some(bool writes, char* bytes, std::size_t count, Wish* wish);
  std::ptrdiff_t move_by_tls(bool writes, char* bytes, std::size_t count, Wish* wish);
  std::ptrdiff_t move_plain(bool writes, char* bytes, std::size_t count, Wish* wish);
  bool move(bool writes, char* bytes, std::size_t count, std::int64_t limit_ns);
  bool await(Wish wish, std::int64_t ns) const;
  bool fail(const std::string& why);

  os::UniqueFd socket_;
  std::string peer_;
  bool plain_ = false;
  std::atomic<bool> given_up_{false};
  std::mutex mutex_;  // of what follows
  std::shared_ptr<ssl_st> ssl_;
  std::string why_broken_;
};

}  // namespace leat::comm
