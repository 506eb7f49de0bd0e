// SPDX-License-Identifier: Apache-2.0
// Local sockets (AF_UNIX). Those of messages (SOCK_SEQPACKET) keep their boundaries and can pass descriptors; those of
// streams carry text that any program can speak.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::os {

enum class SocketKind { messages, stream };

/// Listens at `path`, mode 0600. A file already there is replaced: the caller holds the session's lock.
Result<UniqueFd> listen_at(const std::string& path, SocketKind kind = SocketKind::messages);

/// Connects to `path`, and waits for nobody. ERROR_SERVER when nobody listens there, ERROR_TIMEOUT
/// when too many wait there already.
Result<UniqueFd> connect_to(const std::string& path, SocketKind kind = SocketKind::messages);

/// Whether a process has the socket at `path` open. It sees a connection that is closed at once.
bool somebody_listens(const std::string& path);

/// The next waiting connection, non-blocking; empty when there is none. Connections of other users are closed at once.
UniqueFd accept_own_user(int listener) noexcept;

/// Who has connected; 0: not known, as of another container.
pid_t peer_of(int connection) noexcept;

/// Sends one whole message, with a descriptor when `descriptor` >= 0. Never raises SIGPIPE, never blocks longer than
/// `timeout_ns`.
bool send_message(int socket, const void* data, std::size_t bytes, std::int64_t timeout_ns,
                  int descriptor = -1) noexcept;

enum class Received { message, nothing, closed };

/// Takes one message of exactly `bytes` bytes if one comes within `timeout_ns`; anything of another size counts as
/// closed: the other side is not one of ours.
Received receive_message(int socket, void* data, std::size_t bytes, std::int64_t timeout_ns,
                         UniqueFd* descriptor = nullptr) noexcept;

/// True when the other side has closed the connection or died. No message is taken.
bool peer_is_gone(int socket) noexcept;

}  // namespace leat::os
