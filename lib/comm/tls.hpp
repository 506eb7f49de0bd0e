// SPDX-License-Identifier: Apache-2.0
// Messages between servers of a run that no one else can read, change or make up. Bytes go in and
// out; sockets are others' business.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace leat::comm {

// One secret for all servers of a run: who has it is one of them. Copies share it.
class Credential {
 public:
  /// A new one: 32 bytes at random.
  static Result<Credential> make();
  /// What text() was.
  static Result<Credential> from_text(const std::string& text);

  /// One line. A secret: for files and messages that only servers of the run read.
  const std::string& text() const { return shared_->text; }
  /// What is made of it, in hexadecimal digits, and leads to nothing. Anybody may know it.
  const std::string& fingerprint() const { return shared_->fingerprint; }
  /// 32 bytes for this purpose alone, the same on all servers; a secret. "" when they cannot be made.
  std::string secret_for(std::string_view purpose) const;

  // For the ends of connections, which are below and in byte_stream.hpp.

  static constexpr std::size_t kKnockBytes = 32;
  /// What who connects sends first: a number at random and what only somebody with the credential can make of it. "" when it
  /// cannot be made.
  std::string knock() const;
  bool is_knock(std::string_view bytes) const;
  /// An end of a connection by TLS, which accepts or connects; null when there is no memory. The credential outlives it.
  std::shared_ptr<ssl_st> tls_end(bool accepts) const;

 private:
  friend class TlsStream;
  struct Shared {
    std::string text{}, fingerprint{}, knock_key{}, tls_key{};
    std::shared_ptr<ssl_ctx_st> context{};
  };
  explicit Credential(std::shared_ptr<const Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<const Shared> shared_;
};

// One end of a connection, by TLS 1.3 with a key that both ends have beforehand (RFC 8446, 2.2), and a new secret of each connection
// by Diffie and Hellman. The other end has to prove that it has the key; nothing else that it says of itself matters, nor do
// clocks. Certificates would prove the same, as all servers of a run have one secret, and cost three times as much. A message has
// four bytes with its size in front, little-endian.
//
// Who connects sends a knock first: a number at random and what only somebody with the credential can make of it. That is seen
// in a microsecond, where a handshake takes some hundred, so strangers cannot keep a server busy with them. A recorded knock
// leads to a handshake, and no further.
//
// Not thread-safe.
class TlsStream {
 public:
  enum class Side { connects, accepts };
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  ///< of a message

  TlsStream(const Credential& credential, Side side);

  /// What has come from the other end. False: it is of no use any more, see why_broken().
  bool take_in(std::string_view bytes);
  /// What is to be sent to the other end.
  std::string take_out();
  /// Sent once the other end is known. False: it is too long, or the stream is broken.
  bool send(std::string_view message);
  std::vector<std::string> take_messages();

  /// One that accepts: the other end has knocked, and the handshake has begun.
  bool has_begun() const noexcept { return ssl_ != nullptr; }
  /// The other end has proved who it is.
  bool is_open() const noexcept { return is_open_; }
  const std::string& why_broken() const noexcept { return why_broken_; }

 private:
  bool begin(Side side);
  bool take_knock(std::string_view* bytes);
  bool go_on();
  bool read();
  bool write(std::string_view bytes);
  bool take_apart();
  bool fail(std::string why);

  Credential credential_;
  std::shared_ptr<ssl_st> ssl_;
  std::string knock_;  // of one that accepts, as far as it has come
  bool is_open_ = false;
  std::string why_broken_;
  std::string waiting_;   // until it is open
  std::string received_;  // of a message that is not whole
  std::vector<std::string> messages_;
};

}  // namespace leat::comm
