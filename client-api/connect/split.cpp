// SPDX-License-Identifier: Apache-2.0
#include "client-api/connect/split.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>

#include "client-api/connect/hosted_server.hpp"
#include "client-api/connect/last_error.hpp"
#include "client-api/connect/ranks.hpp"
#include "client-api/connect/rendezvous.hpp"
#include "lib/node/placement.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/process.hpp"

namespace leat::client {
namespace {

using os::UniqueFd;

constexpr std::int64_t kRestPauseNs = 50'000'000;

// What all must know, as bytes.
struct Agreement {
  std::int32_t status = 0, in_ranks = 0, cores = 1, servers = 1;
  std::int32_t staging = 0;  // nodes
  char session[65] = "";
  char message[4000] = "";

  void set(const Error& error) {
    status = static_cast<std::int32_t>(error.status);
    error.message.copy(message, sizeof message - 1);
  }
  Error error() const { return {static_cast<Status>(status), message}; }
};

// Where the XML wants the server.
struct Plan {
  bool in_ranks = false;
  std::int32_t cores = 1, servers = 1;
  std::int32_t staging = 0;  // nodes whose ranks are set aside
};

Result<Plan> ask_plan(const std::string& config) {
  const Result<std::string> text = ask_description(config);
  if (!text) return text.error();
  const std::size_t line = ("\n" + *text).find("\nplace\t");
  char place[16] = "";
  Plan plan;
  if (line == std::string::npos ||
      std::sscanf(text->c_str() + line, "place %15s %d %d", place, &plan.cores, &plan.servers) !=
          3 ||
      plan.servers < 1 || plan.cores < plan.servers)
    return Error{Status::ERROR_VERSION,
                 "leatd does not say where the XML wants it: use libleat and leatd of one Leat"};
  plan.in_ranks = std::strcmp(place, "ranks") == 0;
  const std::size_t staging = ("\n" + *text).find("\nstaging\t");
  if (staging != std::string::npos)
    plan.staging = std::atoi(text->c_str() + staging + std::strlen("staging\t"));
  return plan;
}

// What a rank of a node becomes. Each server is next to its ranks, and the ranks that give it their
// cores next to it: so all of them are in one part of the machine, if launchers fill it in order.
struct Seat {
  bool in_simulation = true;
  int number = 0;      // of those of the simulation on this node; or of those that give their core
  int server = 0;      // whose it is
  bool opens = false;  // it is that server
};

Seat seat_of(int node_rank, int node_size, int cores, int servers) {
  int begin = 0;
  for (int server = 0;; ++server) {
    const node::Share ranks = node::share_of(node_size - cores, server, servers);
    const node::Share given = node::share_of(cores, server, servers);
    const int at = node_rank - begin;
    if (at < ranks.count) return {true, ranks.first + at, server, false};
    if (at < ranks.count + given.count)
      return {false, given.first + at - ranks.count, server, at == ranks.count};
    begin += ranks.count + given.count;
  }
}

// The ranks of a job on their way to a simulation and its servers.
class Parting {
 public:
  Parting(const char* config, const leat_group& group) : config_(config), group_(group) {}

  bool is_divided() const noexcept { return divided_; }
  /// All have this error.
  bool is_refused() const noexcept { return agreed_.status < 0; }
  /// An error is the same on all ranks, but for ERROR_TIMEOUT of those that others let wait.
  Result<void> agree();
  /// Of a rank of the simulation.
  const Ranks& ranks() const noexcept { return ranks_; }
  bool is_server() const noexcept { return is_staging() || !seat_.in_simulation; }
  /// A server comes back when the run is over; others when there are servers.
  Result<void> serve();

 private:
  bool is_staging() const noexcept { return staging_number_ >= 0; }
  void rest() const;
  Result<void> set_nodes_aside();
  Result<void> be_staging_node();
  Result<void> decide(Agreement own);
  Result<void> divide();
  std::string why_too_few() const;
  void set_ranks(std::int32_t part_rank, std::int32_t part_size);
  Result<void> all_ready(const Error& own);
  ServerMeans means() const;

  const char* config_;
  const leat_group& group_;
  Agreement agreed_;
  bool divided_ = false;
  std::int32_t node_rank_ = 0, node_size_ = 1;
  std::int32_t staging_number_ = -1;  // of this rank's node among the staging nodes
  Seat seat_;
  Ranks ranks_;
};

// Until all servers of the job are done. One that has died never is: once the server of these ranks
// has ended, and with it their part of the run, the others are waited for no longer than it may take
// ranks to come.
void Parting::rest() const {
  const std::string own = node::session_of_server(agreed_.session, seat_.server);
  const node::SessionFiles files = node::session_files(node::runtime_folder_name(), own);
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t limit_ns = kNone;
  for (std::int32_t begin = 1; group_.arrive(group_.context, begin) == 0; begin = 0) {
    const UniqueFd live = os::open_there(files.live);
    const bool is_there = live && os::byte_is_locked(live, 0);
    limit_ns = is_there ? kNone : std::min(limit_ns, os::now_ns() + come_limit_ns());
    if (os::now_ns() >= limit_ns) {
      tell("leat_split: the server of this rank has ended " +
           std::to_string(come_limit_ns() / 1'000'000'000) +
           " s ago, and other server ranks of the job have not come back: one may have died. Going "
           "on without them");
      return;
    }
    os::sleep_ns(kRestPauseNs);
  }
}

// Who has the least status says what it is about.
Result<void> Parting::decide(Agreement own) {
  const std::int32_t root = rank_with_worst(group_, static_cast<Status>(own.status));
  agreed_ = own;
  group_.broadcast(group_.context, &agreed_, sizeof agreed_, root);
  if (agreed_.status < 0) return agreed_.error();
  return {};
}

Result<void> Parting::agree() {
  const Result<void> here = await_all(group_, come_limit_ns(),
                                      "some ranks of the communicator have not called leat_split");
  if (!here) return here;
  Agreement own;
  if (group_.rank == 0) {
    const Result<Plan> plan = ask_plan(config_);
    if (plan) {
      own.in_ranks = plan->in_ranks ? 1 : 0;
      own.cores = plan->cores;
      own.servers = plan->servers;
      own.staging = plan->staging;
    } else {
      own.set(plan.error());
    }
    const char* const chosen = std::getenv("LEAT_SESSION");
    const std::string session = chosen && *chosen ? std::string(chosen)
                                                  : "split-" + std::to_string(getpid()) + "-" +
                                                        std::to_string(os::now_ns());
    session.copy(own.session, sizeof own.session - 1);
    if (!node::valid_session_name(session) && own.status == 0)
      own.set(
          {Status::ERROR_CONFIG, "LEAT_SESSION is \"" + session +
                                     "\": a session has a name of 1 to 64 letters, digits, '-', "
                                     "'_' or '.', and no '.' in front"});
  }
  const Result<void> planned =
      await_all(group_, stage_limit_ns(), "the first rank has not said what the XML wants");
  if (!planned) return planned;
  const Result<void> decided = decide(own);
  if (!decided || (agreed_.in_ranks == 0 && agreed_.staging == 0)) return decided;
  return divide();
}

// Each server has a rank of the simulation to serve.
std::string Parting::why_too_few() const {
  if (node_size_ - agreed_.cores >= agreed_.servers) return "";
  const std::string has = "but node " + os::node_name() + " has only " +
                          std::to_string(node_size_) + (node_size_ == 1 ? " rank" : " ranks");
  const std::string cores = "place=\"ranks\": <dedicated cores=\"" + std::to_string(agreed_.cores);
  if (agreed_.servers == 1) {
    return cores + "\"/> makes so many ranks of each node servers, " + has +
           ": start more, or dedicate fewer";
  }
  return cores + "\" servers=\"" + std::to_string(agreed_.servers) +
         "\"/> makes so many ranks of each node servers, each of which has other ranks to serve, " +
         has + ": start more, or dedicate fewer";
}

// A node is known by the rank that is the first on it, and that by its name to the others. The last nodes come first.
Result<void> Parting::set_nodes_aside() {
  const char* const pretended = std::getenv("LEAT_PRETEND_NODE");
  const std::string own = os::node_name() + (pretended ? "/" + std::string(pretended) : "");
  for (std::int32_t number = agreed_.staging; number-- > 0;) {
    std::int64_t last = node_rank_ == 0 && !is_staging() ? -group_.rank : 1;
    group_.least(group_.context, &last);
    char name[256] = "";
    own.copy(name, sizeof name - 1);
    const std::string mine = name;
    // With the node of rank 0 none would be left to compute.
    if (last >= 0)
      return Error{Status::ERROR_CONFIG,
                   "<staging nodes=\"" + std::to_string(agreed_.staging) +
                       "\" place=\"ranks\"/> sets so many nodes of the job aside, and one at least "
                       "has to compute: start the job on more nodes, or have fewer of them"};
    group_.broadcast(group_.context, name, sizeof name, static_cast<std::int32_t>(-last));
    if (mine == name && !is_staging()) staging_number_ = number;
  }
  return {};
}

Result<void> Parting::divide() {
  find_place_on_node(group_, &node_rank_, &node_size_);
  const Result<void> aside = set_nodes_aside();  // the same on all ranks
  if (!aside) {
    agreed_.set(aside.error());
    return aside;
  }
  const int cores = agreed_.in_ranks ? agreed_.cores : 0;
  Agreement own = agreed_;
  if (const std::string why = is_staging() || cores == 0 ? "" : why_too_few(); !why.empty())
    own.set({Status::ERROR_CONFIG, why});
  const Result<void> enough = decide(own);
  if (!enough) return enough;
  if (!is_staging())
    seat_ = seat_of(node_rank_, node_size_, cores, cores > 0 ? agreed_.servers : 1);
  std::int32_t part_rank = 0, part_size = 1;
  group_.divide(group_.context, is_staging() ? 2 : is_server() ? 1 : 0, &part_rank, &part_size);
  divided_ = true;
  set_ranks(part_rank, part_size);
  return {};
}

void Parting::set_ranks(std::int32_t part_rank, std::int32_t part_size) {
  // How many compute is known to these.
  std::int64_t first = is_server() ? group_.size : group_.rank;
  group_.least(group_.context, &first);
  std::int32_t computing = part_size;
  group_.broadcast(group_.context, &computing, sizeof computing, static_cast<std::int32_t>(first));
  ranks_.rank = is_server() ? 0 : part_rank;
  ranks_.size = computing;
  ranks_.node_rank = is_server() ? 0 : seat_.number;
  ranks_.node_size = node_size_ - (agreed_.in_ranks ? agreed_.cores : 0);
  ranks_.session = agreed_.session;
}

// The program ends with the run: nothing but that tells how long.
Result<void> Parting::be_staging_node() {
  Result<os::Child> child = Error{Status::OK, ""};
  if (node_rank_ == 0)
    child = os::spawn({staging_program(), config_, "--number", std::to_string(staging_number_)});
  const Result<void> ready =
      all_ready(node_rank_ == 0 && !child ? child.error() : Error{Status::OK, ""});
  if (!ready) return ready;
  while (child && !os::reap(child->pid, kRestPauseNs)) {
  }
  for (std::int32_t begin = 1; group_.arrive(group_.context, begin) == 0; begin = 0)
    os::sleep_ns(kRestPauseNs);
  return {};
}

// All servers are ready, or none is.
Result<void> Parting::all_ready(const Error& own) {
  Agreement mine = agreed_;
  if (own.status != Status::OK) mine.set(own);
  return decide(mine);
}

// What callers from before it was there did not fill in, is not there.
ServerMeans Parting::means() const {
  ServerMeans means;
  const bool has_plugins = group_.struct_size >= offsetof(leat_group, plugins) + sizeof(void*);
  if (!has_plugins || !group_.plugins) return means;
  const char* why = nullptr;
  means.mpi_comm = group_.plugins(group_.context, seat_.opens ? 1 : 0, &why);
  if (why) means.why_no_mpi_comm = why;
  return means;
}

Result<void> Parting::serve() {
  if (is_staging()) return be_staging_node();
  if (!is_server()) return all_ready({Status::OK, ""});
  const ServerMeans own = means();
  std::optional<Result<void>> ready;
  if (seat_.opens) {
    const ServerStart start{config_, ranks_, os::current_folder(), "", 0, false, seat_.server};
    run_server_here(server_arguments(start), own, [&](Status status, const std::string& message) {
      ready = all_ready({status, message});
      return static_cast<bool>(*ready);
    });
  }
  if (!ready) ready = all_ready({Status::OK, ""});
  if (*ready) rest();
  return *ready;
}

void keep(GuardedSplit the, const Parting& parting, const char* config) {
  const std::lock_guard<std::mutex> lock(the.mutex);
  the.split.happened = parting.is_divided();
  the.split.served = parting.is_server();
  the.split.pending = parting.is_divided() && !parting.is_server();
  the.split.ranks = parting.ranks();
  the.split.config = config;
}

std::string why_not_now(GuardedSplit the, const char* config, const leat_group* group) {
  const std::lock_guard<std::mutex> lock(the.mutex);
  if (!config) return "the config path is NULL";
  if (!group || group->struct_size < offsetof(leat_group, plugins))
    return "the group is NULL, or of another version";
  if (the.is_initialised) return "it comes before leat_init";
  if (the.split.happened) return "it can be called once";
  return "";
}

}  // namespace

Status split(const char* function, GuardedSplit the, const char* config, const leat_group* group,
             std::int32_t* divided) {
  const std::string of_call = std::string(function) + ": ";
  if (const std::string why = why_not_now(the, config, group); !why.empty())
    return fail(Status::ERROR_STATE, of_call + why, function);
  Parting parting(config, *group);
  Result<void> done = parting.agree();
  // Known before it serves, so that it is not called a rank of the simulation meanwhile.
  if (done && parting.is_divided()) keep(the, parting, config);
  if (done && parting.is_divided()) done = parting.serve();
  if (!done) {
    const bool speaks = group->rank == 0 || done.error().status == Status::ERROR_TIMEOUT;
    const Status status = fail_quietly(done.error().status, of_call + done.error().message, speaks);
    if (parting.is_refused()) await_printed(*group);
    return status;
  }
  if (divided) *divided = parting.is_divided() ? 1 : 0;
  return parting.is_server() ? Status::SERVED : Status::OK;
}

std::string why_unfit(const Split& split, int rank, int size) {
  if (split.served)
    return "this rank was a server, and the run is over: after LEAT_SERVED comes MPI_Finalize";
  if (size == 0) return "the communicator is MPI_COMM_NULL";
  if (!split.pending || (rank == split.ranks.rank && size == split.ranks.size)) return "";
  return "the simulation is the communicator that leat_split gave, in which this rank is " +
         std::to_string(split.ranks.rank) + " of " + std::to_string(split.ranks.size) +
         "; this one has " + std::to_string(size) + ", and servers of it answer no more";
}

Result<Ranks> in_split(const Split& split, const std::function<Result<Ranks>()>& make_ranks) {
  if (split.served) return Error{Status::ERROR_STATE, why_unfit(split, 0, 0)};
  return split.pending ? split.ranks : make_ranks();
}

}  // namespace leat::client
