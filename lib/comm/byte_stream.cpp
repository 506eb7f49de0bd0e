// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/byte_stream.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/comm/addresses.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"

namespace leat::comm {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kLongestWait = kSecond / 5;  // between looks whether one is to give up
constexpr int kIdleSeconds = 5, kProbeSeconds = 2,
              kProbes = 4;  // until a node that is gone is noticed
constexpr std::size_t kMostBytesAtOnce = std::size_t{256} << 10;

// What is under way is bounded by what the system keeps for a connection; who takes it reads only for what it has memory.
void tune(int socket) {
  const auto set_tcp = [socket](int option, int value) {
    setsockopt(socket, IPPROTO_TCP, option, &value, sizeof value);
  };
  const int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  set_tcp(TCP_NODELAY, 1);
  set_tcp(TCP_KEEPIDLE, kIdleSeconds);
  set_tcp(TCP_KEEPINTVL, kProbeSeconds);
  set_tcp(TCP_KEEPCNT, kProbes);
  set_tcp(TCP_USER_TIMEOUT, (kIdleSeconds + kProbes * kProbeSeconds) * 1000);
}

// A write to a socket whose other end is gone raises SIGPIPE in OpenSSL: not in a program of somebody else.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  ~NoBrokenPipe() {
    sigset_t pending;
    sigpending(&pending);
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    const timespec at_once{0, 0};
    if (!sigismember(&before_, SIGPIPE) && sigismember(&pending, SIGPIPE))
      sigtimedwait(&pipe, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_{};
};

Result<os::UniqueFd> connect_to(SocketAddress address, std::int64_t limit_ns) {
  os::UniqueFd made(socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto error = [&](int code) {
    return Error{Status::ERROR_SERVER, address.text() + ": " + os::errno_text(code)};
  };
  if (!made) return error(errno);
  if (::connect(made.get(), address.get(), address.size) == 0) return made;
  if (errno != EINPROGRESS) return error(errno);
  pollfd wait{made.get(), POLLOUT, 0};
  const int ready =
      poll(&wait, 1, static_cast<int>(std::max<std::int64_t>(1, limit_ns / 1'000'000)));
  if (ready == 0) return Error{Status::ERROR_TIMEOUT, address.text() + ": it does not answer"};
  int code = 0;
  socklen_t size = sizeof code;
  getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0) return error(code);
  return made;
}

}  // namespace

ByteStream::~ByteStream() = default;

Result<std::unique_ptr<ByteStream>> ByteStream::connect(const std::vector<std::string>& addresses,
                                                        std::uint16_t port,
                                                        const Credential& credential,
                                                        std::int64_t limit_ns) {
  std::vector<std::string> failures;
  const auto part =
      limit_ns / static_cast<std::int64_t>(std::max<std::size_t>(1, addresses.size()));
  for (const std::string& text : addresses) {
    const std::optional<SocketAddress> address = socket_address(text, port);
    if (!address) {
      failures.push_back(text + ": it is no address that this node can reach");
      continue;
    }
    Result<os::UniqueFd> socket = connect_to(*address, part);
    if (!socket) {
      failures.push_back(socket.error().message);
      continue;
    }
    tune(socket->get());
    std::unique_ptr<ByteStream> stream(new ByteStream(std::move(*socket), address->text()));
    if (stream->shake_hands(false, credential, part)) return stream;
    failures.push_back(stream->peer() + ": " + stream->why_broken());
  }
  return Error{Status::ERROR_SERVER,
               failures.empty() ? "no address is known" : joined(failures, "; ")};
}

Result<std::unique_ptr<ByteStream>> ByteStream::accept(os::UniqueFd socket,
                                                       const Credential& credential,
                                                       std::int64_t limit_ns) {
  SocketAddress address;
  getpeername(socket.get(), address.get(), &address.size);
  tune(socket.get());
  std::unique_ptr<ByteStream> stream(new ByteStream(std::move(socket), address.text()));
  if (stream->shake_hands(true, credential, limit_ns)) return stream;
  return Error{Status::ERROR_SERVER, stream->peer() + ": " + stream->why_broken()};
}

// The knock first: no handshake with strangers.
bool ByteStream::shake_hands(bool accepts, const Credential& credential, std::int64_t limit_ns) {
  const os::Deadline deadline = os::Deadline::in_ns(limit_ns);
  plain_ = true;
  std::string knock = accepts ? std::string(Credential::kKnockBytes, '\0') : credential.knock();
  if (!move(!accepts, knock.data(), knock.size(), deadline.left_ns())) return false;
  if (accepts && !credential.is_knock(knock))
    return fail("it does not know the credential of this run");
  plain_ = false;
  ssl_ = credential.tls_end(accepts);
  if (!ssl_ || SSL_set_fd(ssl_.get(), socket_.get()) != 1)
    return fail("no memory for a connection");
  SSL_set_mode(ssl_.get(), SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const NoBrokenPipe none;
  while (true) {
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) break;
    const int error = SSL_get_error(ssl_.get(), result);
    ERR_clear_error();
    const Wish wish = error == SSL_ERROR_WANT_READ    ? Wish::read
                      : error == SSL_ERROR_WANT_WRITE ? Wish::write
                                                      : Wish::none;
    if (wish == Wish::none) return fail("nobody of this run is at the other end");
    if (deadline.passed()) return fail("it does not answer");
    await(wish, deadline.left_ns());
  }
  return SSL_session_reused(ssl_.get()) == 1 || fail("it did not use the key of the run");
}

// Nothing of TLS is on its way then: a handshake without tickets, and messages that were taken whole.
void ByteStream::settle(bool plain) {
  plain_ = plain;
  if (plain) return;
  SSL_set_read_ahead(ssl_.get(), 1);
  SSL_set_default_read_buffer_len(ssl_.get(), kMostBytesAtOnce);
}

bool ByteStream::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (why_broken_.empty()) why_broken_ = why;
  return false;
}

void ByteStream::give_up() noexcept {
  given_up_.store(true, std::memory_order_relaxed);
  shutdown(socket_.get(), SHUT_RDWR);
}

bool ByteStream::await(Wish wish, std::int64_t ns) const {
  pollfd wait{socket_.get(), static_cast<short>(wish == Wish::write ? POLLOUT : POLLIN), 0};
  const std::int64_t slice = std::clamp<std::int64_t>(ns, 0, kLongestWait);
  return poll(&wait, 1, static_cast<int>(slice / 1'000'000)) > 0;
}

std::ptrdiff_t ByteStream::move_plain(bool writes, char* bytes, std::size_t count, Wish* wish) {
  const ssize_t moved = writes ? ::send(socket_.get(), bytes, count, MSG_NOSIGNAL)
                               : ::recv(socket_.get(), bytes, count, 0);
  if (moved > 0) return moved;
  if (moved < 0 && (errno == EAGAIN || errno == EINTR)) {
    *wish = writes ? Wish::write : Wish::read;
    return 0;
  }
  fail(moved == 0 ? "the other end has closed the connection" : os::errno_text(errno));
  return -1;
}

// Both directions are one state of OpenSSL's: the lock is held for a record or so.
std::ptrdiff_t ByteStream::move_by_tls(bool writes, char* bytes, std::size_t count, Wish* wish) {
  std::optional<NoBrokenPipe> none;
  if (writes) none.emplace();
  std::size_t moved = 0;
  int error = 0, code = 0;
  {
    const std::lock_guard lock(mutex_);
    const int done = writes ? SSL_write_ex(ssl_.get(), bytes, count, &moved)
                            : SSL_read_ex(ssl_.get(), bytes, count, &moved);
    code = errno;
    error = done == 1 ? 0 : SSL_get_error(ssl_.get(), done);
    if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
      error = SSL_ERROR_ZERO_RETURN;
    ERR_clear_error();
  }
  if (moved > 0) return static_cast<std::ptrdiff_t>(moved);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    *wish = error == SSL_ERROR_WANT_READ ? Wish::read : Wish::write;
    return 0;
  }
  const bool by_system = error == SSL_ERROR_SYSCALL && code != 0;
  fail(by_system                ? os::errno_text(code)
       : error == SSL_ERROR_SSL ? "what came is not what was sent"
                                : "the other end has closed the connection");
  return -1;
}

std::ptrdiff_t ByteStream::move_some(bool writes, char* bytes, std::size_t count, Wish* wish) {
  return plain_ ? move_plain(writes, bytes, count, wish) : move_by_tls(writes, bytes, count, wish);
}

bool ByteStream::move(bool writes, char* bytes, std::size_t count, std::int64_t limit_ns) {
  std::int64_t since_ns = 0;  // nothing has moved; 0: something has
  while (count > 0) {
    if (given_up_.load(std::memory_order_relaxed)) return fail("it was given up");
    Wish wish = Wish::none;
    const std::ptrdiff_t moved = move_some(writes, bytes, std::min(count, kMostBytesAtOnce), &wish);
    if (moved < 0) return false;
    bytes += moved;
    count -= static_cast<std::size_t>(moved);
    if (moved > 0) {
      since_ns = 0;
      continue;
    }
    const std::int64_t now_ns = os::now_ns();
    if (since_ns == 0) since_ns = now_ns;
    if (now_ns - since_ns >= limit_ns)
      return fail("it has not moved a byte for " + std::to_string(limit_ns / kSecond) + " s");
    await(wish, since_ns + limit_ns - now_ns);
  }
  return true;
}

bool ByteStream::write(const void* bytes, std::size_t count, std::int64_t limit_ns) {
  return move(true, static_cast<char*>(const_cast<void*>(bytes)), count, limit_ns);
}

bool ByteStream::read(void* bytes, std::size_t count, std::int64_t limit_ns) {
  return move(false, static_cast<char*>(bytes), count, limit_ns);
}

bool ByteStream::has_more_within(std::int64_t ns) {
  if (!plain_) {
    const std::lock_guard lock(mutex_);
    if (SSL_has_pending(ssl_.get()) == 1) return true;
  }
  pollfd wait{socket_.get(), POLLIN, 0};
  return poll(&wait, 1, static_cast<int>(ns / 1'000'000)) > 0;
}

}  // namespace leat::comm
