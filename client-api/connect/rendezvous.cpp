// SPDX-License-Identifier: Apache-2.0
#include "client-api/connect/rendezvous.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "lib/node/placement.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/limits.hpp"
#include "lib/os/local_socket.hpp"
#include "lib/os/process.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::client {

using Received = shm::ToServer::Received;

Received SocketLink::handshake(const shm::Hello& hello, shm::Welcome* welcome,
                               std::int64_t limit_ns) {
  const os::Deadline deadline = os::Deadline::in_ns(limit_ns);
  if (!os::send_message(socket_.get(), &hello, sizeof hello, deadline.left_ns()))
    return Received::closed;
  return os::receive_message(socket_.get(), welcome, sizeof *welcome, deadline.left_ns(),
                             &doorbell_);
}

void SocketLink::ring() noexcept {
  const std::uint64_t one = 1;
  const ssize_t written = ::write(doorbell_.get(), &one, sizeof one);
  (void)written;  // a full counter means that the doorbell rings already
}

bool SocketLink::is_gone() noexcept { return os::peer_is_gone(socket_.get()); }

bool SocketLink::report(const shm::Report& report) noexcept {
  return os::send_message(socket_.get(), &report, sizeof report, 0);
}

bool SocketLink::introduce(const std::string& offers) noexcept {
  const os::UniqueFd file = os::memory_file("leat-offers");
  const shm::Report report{shm::kIntroduction, 0, {}};
  return file && os::write_at(file.get(), offers.data(), offers.size(), 0) &&
         os::send_message(socket_.get(), &report, sizeof report, 0, file.get());
}

Received SocketLink::await(shm::DrainReport* report, std::int64_t limit_ns) noexcept {
  return os::receive_message(socket_.get(), report, sizeof *report, limit_ns);
}

void SocketLink::close() noexcept {
  socket_.reset();
  doorbell_.reset();
}

namespace {

using os::Deadline;
using os::UniqueFd;

// A server that has to pre-fault a large segment on a slow machine is ready long before.
constexpr std::int64_t kStartLimitNs = 120'000'000'000;
// A process that has said all ends at once; on a node that is loaded with ranks it may have to wait for a core.
constexpr std::int64_t kReapLimitNs = 20'000'000'000;
// To read the largest of files takes a second.
constexpr std::int64_t kDescribeLimitNs = 60'000'000'000;
constexpr char kDescribed[] = "described\n";
// Servers in a row that are killed while they start: the next one would be too.
constexpr int kMostStarts = 16;

// A server that is dying is gone long before.
constexpr std::int64_t kDyingLimitNs = 5'000'000'000;
// Who has taken it upon itself to start the server may be stopped. After so long without a sign of
// one the others do it too, one after the other: the server's own lock says which one it is.
constexpr std::int64_t kStarterLimitNs = 1'000'000'000;
constexpr int kMostTurns = 30;

std::string session_of(const ServerStart& start) {
  return node::session_of_server(start.ranks.session, start.server);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string own_library_path() {
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<const void*>(&find_server), &info) != 0;
  return known && info.dli_fname ? info.dli_fname : "";
}

std::vector<std::string> server_candidates() {
  std::vector<std::string> paths;
  const std::string beside = folder_of(own_library_path());
  for (const char* place : {"/leatd", "/../bin/leatd", "/../../bin/leatd"}) {
    paths.push_back(beside + place);
  }
  std::string search = std::getenv("PATH") ? std::getenv("PATH") : "";
  for (std::size_t begin = 0; begin < search.size();) {
    const std::size_t end = std::min(search.find(':', begin), search.size());
    if (end > begin) paths.push_back(search.substr(begin, end - begin) + "/leatd");
    begin = end + 1;
  }
  return paths;
}

// What a starting server reports until it closes the pipe: "ready\n", or a status and a message.
std::string report_of(const os::Child& child, const Deadline& deadline) {
  std::string text;
  while (!deadline.passed() && os::read_report(child, deadline.left_ns(), &text)) {
  }
  return text;
}

Error start_error(const std::string& report, const std::string& server) {
  const std::size_t line_end = report.find('\n');
  if (line_end == std::string::npos) {
    return Error{Status::ERROR_SERVER,
                 server + " ended, or did not answer, before it was ready; run `" + server +
                     " --version` to see whether it can run on this node" + os::limit_hint()};
  }
  const int code = std::atoi(report.c_str());
  return Error{static_cast<Status>(code), report.substr(line_end + 1)};
}

std::vector<std::string> arguments_for_rank(const ServerStart& start) {
  std::vector<std::string> words = server_arguments(start);
  words.insert(words.end(), {"--for-rank", std::to_string(start.ranks.node_rank), "--since",
                             std::to_string(start.since_ns)});
  return words;
}

std::vector<std::string> command_line(const std::string& server, const ServerStart& start) {
  std::vector<std::string> words = arguments_for_rank(start);
  words.insert(words.begin(), server);
  words.insert(words.end(), {"--report-fd", std::to_string(os::kReportFd)});
  if (!start.segment.empty()) words.insert(words.end(), {"--take-over", start.segment});
  if (start.was_split) words.insert(words.end(), {"--place", "process"});
  return words;
}

Result<OwnServer> host_server(const ServerStart& start, const Deadline& deadline) {
  Result<std::unique_ptr<HostedServer>> hosted =
      HostedServer::start(arguments_for_rank(start), deadline);
  if (!hosted) return hosted.error();
  return OwnServer{-1, std::move(*hosted)};
}

// `killed`: whether somebody killed it before it was ready, which says nothing of the next one.
Result<OwnServer> start_once(const ServerStart& start, const std::string& server,
                             const Deadline& deadline, bool* killed) {
  Result<os::Child> child = os::spawn(command_line(server, start));
  if (!child) return child.error();
  const std::string report = report_of(*child, deadline);
  if (report == "ready\n") return OwnServer{static_cast<int>(child->pid)};
  if (report.empty() && deadline.passed() && !start.segment.empty()) {
    return Error{Status::ERROR_TIMEOUT, "the server that takes over is not ready yet"};
  }
  int status = 0;
  const std::int64_t reap_ns = std::min(kReapLimitNs, deadline.left_ns());
  *killed = os::reap(child->pid, reap_ns, &status) && os::was_killed(status);
  if (report == "thread\n") return host_server(start, deadline);
  return start_error(report, server);
}

// Said so, no process need be asked what the XML wants.
bool is_chosen_to_host(const ServerStart& start) {
  const char* const place = std::getenv("LEAT_PLACE");
  return place && start.segment.empty() && !start.was_split &&
         (std::strcmp(place, "thread") == 0 || std::strcmp(place, "none") == 0);
}

Result<OwnServer> start_server(const ServerStart& start, const Deadline& deadline) {
  if (is_chosen_to_host(start)) return host_server(start, deadline);
  Result<std::string> server = find_server();
  if (!server) return server.error();
  for (int starts = 1;; ++starts) {
    bool killed = false;
    Result<OwnServer> own = start_once(start, *server, deadline, &killed);
    if (own || !killed || starts == kMostStarts || deadline.passed()) return own;
  }
}

// A server has taken the session, and is about to listen: it starts, or is stopped, or just ends.
bool is_taken(const node::SessionFiles& files) noexcept {
  const UniqueFd live = os::open_there(files.live);
  return live && os::byte_is_locked(live, 0);
}

struct Found {
  UniqueFd socket;
  OwnServer own{};  // when this process has started it
};

// Connects to the session's server; a process that finds none starts it first, and mostly one does,
// since the others wait for it. None waits for long: that one may be killed or stopped at any
// moment, and what it has started lives on.
Result<Found> find_or_start(const ServerStart& start, const node::SessionFiles& files,
                            const Deadline& deadline) {
  const int turn = std::clamp(start.ranks.node_rank, 1, kMostTurns);
  const Deadline others = Deadline::in_ns(kStarterLimitNs * turn);
  Found found;
  for (; !deadline.passed(); os::pause_shortly()) {
    Result<UniqueFd> socket = os::connect_to(files.socket);
    if (socket) {
      found.socket = std::move(*socket);
      return found;
    }
    if (socket.error().status != Status::ERROR_SERVER) return socket.error();
    if (is_taken(files)) continue;
    const UniqueFd lock = os::lock_file(files.lock, 0);
    if (!lock && !others.passed()) continue;
    // The process that held the lock before us may have started it in the meantime.
    if (is_taken(files) || os::connect_to(files.socket)) continue;
    Result<OwnServer> own = start_server(start, deadline);
    if (lock) ::unlink(files.lock.c_str());
    if (!own && own.error().status != Status::ERROR_TIMEOUT) return own.error();
    if (own) found.own = std::move(*own);
  }
  return Error{Status::ERROR_TIMEOUT,
               "the server of session " + session_of(start) +
                   " does not come: it is stopped, or slow to start or to end (" + files.live +
                   ")"};
}

shm::Hello hello_of(const ServerStart& start, const HeldRegions* held) {
  const Ranks& ranks = start.ranks;
  shm::Hello hello{};
  hello.magic = shm::kMagic;
  hello.version = shm::kLayoutVersion;
  hello.rank = ranks.rank;
  hello.size = ranks.size;
  hello.node_rank = ranks.node_rank;
  hello.node_size = ranks.node_size;
  hello.pid = getpid();
  hello.affinity = os::current_affinity();
  hello.resumed = held ? 1 : 0;
  hello.meets = start.meets ? 1 : 0;
  hello.since_ns = start.since_ns;
  hello.current_region = held ? held->current.offset : 0;
  hello.spare_region = held ? held->spare.offset : 0;
  start.segment.copy(hello.segment, sizeof hello.segment - 1);
  return hello;
}

Result<Connection> handshake(Found found, const ServerStart& start, const HeldRegions* held,
                             const Deadline& deadline) {
  auto link = std::make_unique<SocketLink>(std::move(found.socket));
  shm::Welcome welcome{};
  const os::Received received =
      link->handshake(hello_of(start, held), &welcome, deadline.left_ns());
  if (received == os::Received::nothing) {
    return Error{Status::ERROR_TIMEOUT,
                 "the server of session " + session_of(start) + " does not answer; is it stopped?"};
  }
  if (received == os::Received::closed || welcome.magic != shm::kMagic) {
    return Error{Status::ERROR_SERVER, "the server of session " + session_of(start) +
                                           " closed the connection: it has just ended, or it is "
                                           "not of this version of Leat"};
  }
  welcome.message[sizeof welcome.message - 1] = 0;
  welcome.segment[sizeof welcome.segment - 1] = 0;
  if (welcome.status != 0) return Error{static_cast<Status>(welcome.status), welcome.message};
  const std::string_view offers(welcome.offers, sizeof welcome.offers);
  const std::string as_first(offers.substr(0, welcome.first_offer_bytes));
  const std::string offer(offers.substr(as_first.size(), welcome.offer_bytes));
  return Connection{std::move(link), welcome.segment, std::move(found.own),
                    welcome.server,  welcome.place,   {welcome.meeting, as_first, offer}};
}

// A server that is just dying still has its socket for a moment, and closes it.
Result<Connection> connect_to_server(const ServerStart& start, const AskForHeld* ask_for_held,
                                     const Deadline& deadline, const Deadline& dying) {
  const node::SessionFiles files =
      node::session_files(node::runtime_folder_name(), session_of(start));
  if (const std::string path = node::misplaced(files); !path.empty())
    return Error{Status::ERROR_SYSTEM,
                 path + " is in the way of session " + session_of(start) +
                     ": it is no file of Leat's; remove it, or take another name of the session"};
  for (;;) {
    Result<Found> found = find_or_start(start, files, deadline);
    if (!found) return found.error();
    const HeldRegions held = ask_for_held ? (*ask_for_held)() : HeldRegions{};
    Result<Connection> connection =
        handshake(std::move(*found), start, ask_for_held ? &held : nullptr, deadline);
    if (connection) return connection;
    if (connection.error().status != Status::ERROR_SERVER || dying.passed()) return connection;
    os::pause_shortly();
  }
}

// The first server of the node says which one this rank belongs to.
Result<Connection> connect(ServerStart start, const AskForHeld* ask_for_held,
                           const Deadline& deadline, const Deadline& dying) {
  Result<Connection> first = connect_to_server(start, ask_for_held, deadline, dying);
  if (!first || first->number == start.server) return first;
  if (start.server != 0) {
    return Error{Status::ERROR_SERVER, "server " + std::to_string(start.server) + " of session " +
                                           start.ranks.session +
                                           " says that this rank is not its own"};
  }
  start.server = first->number;
  return connect_to_server(start, ask_for_held, deadline, dying);
}

}  // namespace

std::vector<std::string> server_arguments(const ServerStart& start) {
  const Ranks& ranks = start.ranks;
  return {"--config",     start.config,
          "--session",    ranks.session,
          "--server",     std::to_string(start.server),
          "--ranks",      std::to_string(ranks.size),
          "--node-ranks", std::to_string(ranks.node_size),
          "--folder",     start.folder};
}

Result<std::string> ask_description(const std::string& config) {
  const Result<std::string> server = find_server();
  if (!server) return server.error();
  Result<os::Child> child =
      os::spawn({*server, "--describe", config, "--report-fd", std::to_string(os::kReportFd)});
  if (!child) return child.error();
  const std::string text = report_of(*child, Deadline::in_ns(kDescribeLimitNs));
  child->report.reset();
  int status = 0;
  if (!os::reap(child->pid, kReapLimitNs, &status))
    return Error{Status::ERROR_TIMEOUT, *server + " is too slow to read " + config};
  const bool begun = text.starts_with(kDescribed);
  if (begun && status == 0) return text.substr(std::strlen(kDescribed));
  return start_error(begun ? "" : text, *server);
}

std::string staging_program() {
  return folder_of(own_library_path()) + "/leat/plugins/staging-node";
}

Result<std::string> find_server() {
  const char* chosen = std::getenv("LEAT_SERVER");
  if (chosen && *chosen) {
    if (access(chosen, X_OK) == 0) return std::string(chosen);
    return Error{Status::ERROR_SERVER, std::string("LEAT_SERVER is ") + chosen +
                                           ", which cannot be run: " + os::errno_text(errno)};
  }
  std::string places;
  for (const std::string& path : server_candidates()) {
    if (access(path.c_str(), X_OK) == 0) return path;
    places += "\n  " + path;
  }
  return Error{
      Status::ERROR_SERVER,
      "cannot find the server program leatd; set LEAT_SERVER to its path. Looked at:" + places};
}

Result<Connection> connect_or_start(const ServerStart& start) {
  Result<std::string> folder = node::runtime_folder();
  if (!folder) return folder.error();
  return connect(start, nullptr, Deadline::in_ns(kStartLimitNs), Deadline::in_ns(kDyingLimitNs));
}

Result<Connection> connect_or_take_over(const ServerStart& start, const AskForHeld& ask_for_held,
                                        std::int64_t limit_ns) {
  const Deadline deadline = Deadline::in_ns(limit_ns);
  Result<Connection> connection = connect(start, &ask_for_held, deadline, deadline);
  if (connection || !deadline.passed()) return connection;
  return Error{Status::ERROR_TIMEOUT, connection.error().message};
}

}  // namespace leat::client
