// SPDX-License-Identifier: Apache-2.0
#include "server/cli/control_client.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/local_socket.hpp"

namespace leat::cli {
namespace {

namespace fs = std::filesystem;

// What makes no sense from a server may be large.
constexpr std::size_t kMostMessage = 16 << 20;

Error gone() {
  return {Status::ERROR_SERVER, "the server has ended, or has closed the connection"};
}

}  // namespace

std::vector<std::string> names_of_sessions() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(node::runtime_folder_name(), error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".control") names.push_back(entry->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> sessions_of_simulation(const std::string& simulation,
                                                const os::Deadline& deadline) {
  std::vector<std::string> found;
  for (const std::string& name : names_of_sessions()) {
    Result<ControlClient> client = ControlClient::connect(name, deadline);
    const Result<Json> reply =
        client ? client->ask("status", Json::object(), deadline) : client.error();
    if (!reply || !reply->contains("result")) continue;
    const Json& status = (*reply)["result"];
    if (status.value("simulation", "") == simulation && status.value("server", 0) == 0)
      found.push_back(name);
  }
  return found;
}

std::string several_runs(const std::string& simulation, const std::vector<std::string>& sessions) {
  return "several sessions on this node are runs of \"" + simulation +
         "\"; name one of: " + joined(sessions, " ");
}

Result<ControlClient> ControlClient::connect(const std::string& session,
                                             const os::Deadline& deadline) {
  const std::string path = node::session_files(node::runtime_folder_name(), session).control;
  Result<os::UniqueFd> socket = os::connect_to(path, os::SocketKind::stream);
  while (!socket && socket.error().status == Status::ERROR_TIMEOUT && !deadline.passed()) {
    os::pause_shortly();
    socket = os::connect_to(path, os::SocketKind::stream);
  }
  if (!socket) return socket.error();
  return ControlClient(std::move(*socket));
}

bool ControlClient::send(const std::string& verb, const Json& arguments,
                         const os::Deadline& deadline) {
  const std::string line = control::request_line(verb, arguments);
  return os::send_all(socket_.get(), line.data(), line.size(), os::now_ns() + deadline.left_ns());
}

Result<Json> ControlClient::next_line(const os::Deadline& deadline) {
  for (;;) {
    if (const std::size_t end = input_.find('\n'); end != std::string::npos) {
      Json message = Json::parse(input_.substr(0, end), nullptr, false);
      input_.erase(0, end + 1);
      if (message.is_object()) return message;
      return Error{Status::ERROR_SERVER, "what the server says is no JSON"};
    }
    if (!os::is_readable_within(socket_.get(), deadline.left_ns()))
      return Error{Status::ERROR_TIMEOUT, "the server does not answer in time"};
    char bytes[65536];
    const ssize_t got = ::read(socket_.get(), bytes, sizeof bytes);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return gone();
    if (got > 0) input_.append(bytes, static_cast<std::size_t>(got));
    if (input_.size() > kMostMessage) return gone();
  }
}

Result<Json> ControlClient::receive(const os::Deadline& deadline) {
  if (events_.empty()) return next_line(deadline);
  Json event = std::move(events_.front());
  events_.pop_front();
  return event;
}

Result<Json> ControlClient::ask(const std::string& verb, const Json& arguments,
                                const os::Deadline& deadline) {
  if (!send(verb, arguments, deadline)) return gone();
  for (;;) {
    Result<Json> message = next_line(deadline);
    if (!message || message->contains("reply")) return message;
    events_.push_back(std::move(*message));
  }
}

}  // namespace leat::cli
