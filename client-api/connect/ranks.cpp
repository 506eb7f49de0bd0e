// SPDX-License-Identifier: Apache-2.0
#include "client-api/connect/ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "lib/node/runtime_folder.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"
#include "lib/shm/handshake.hpp"

namespace leat::client {
namespace {

std::string text_of(const char* name) {
  const char* value = name ? std::getenv(name) : nullptr;
  return value ? value : "";
}

// The number a variable is, or -1.
int number_of(const char* name) {
  const std::string text = text_of(name);
  if (text.empty() || text[0] < '0' || text[0] > '9') return -1;
  return static_cast<int>(std::strtol(text.c_str(), nullptr, 10));
}

// Tasks of one node in Slurm's list of tasks per node: in "2(x3),1" nodes 0, 1 and 2 have 2 tasks,
// node 3 has 1. -1 when the list is too short. Source: srun(1), SLURM_TASKS_PER_NODE.
int tasks_of_node(const std::string& list, long node) {
  const char* at = list.c_str();
  while (*at >= '0' && *at <= '9') {
    char* end = nullptr;
    const long tasks = std::strtol(at, &end, 10);
    long nodes = 1;
    if (end[0] == '(' && end[1] == 'x') nodes = std::strtol(end + 2, &end, 10);
    if (*end == ')') ++end;
    if (node < nodes) return static_cast<int>(tasks);
    node -= nodes;
    at = *end == ',' ? end + 1 : end;
  }
  return -1;
}

int number_on_this_node(const char* name) {
  const std::string text = text_of(name);
  const int node = number_of("SLURM_NODEID");
  return text.find_first_of("(,") == std::string::npos ? number_of(name)
                                                       : tasks_of_node(text, node < 0 ? 0 : node);
}

struct Launcher {
  const char* title;
  const char *rank, *size, *node_rank, *node_size;
  const char *job, *step;  // together they name a run on a node; nullptr: the parent process does
};

constexpr Launcher kLaunchers[] = {
    {"ompi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", nullptr},
    {"pmi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", nullptr, nullptr},
    {"slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE",
     "SLURM_JOB_ID", "SLURM_STEP_ID"},
    {"pals", "PMI_RANK", "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", "PALS_APID", nullptr},
    {"pals", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", "PALS_APID",
     nullptr},
};

const Launcher* present_launcher() {
  for (const Launcher& launcher : kLaunchers) {
    const bool all = number_of(launcher.rank) >= 0 && number_of(launcher.size) > 0 &&
                     number_of(launcher.node_rank) >= 0 &&
                     number_on_this_node(launcher.node_size) > 0;
    if (all) return &launcher;
  }
  return nullptr;
}

// A rank that knows it is not the only one must not begin as if it were: each would start a server.
// Rank 0 may be: the script of a batch job is one too.
Result<void> refuse_lost_rank() {
  for (const Launcher& launcher : kLaunchers) {
    if (number_of(launcher.rank) <= 0) continue;
    return Error{Status::ERROR_ARGUMENT,
                 std::string(launcher.rank) + "=" + text_of(launcher.rank) +
                     " says that this is one rank of several, but " + launcher.size + ", " +
                     launcher.node_rank + " and " + launcher.node_size +
                     " do not say which others share its node: call leat_init_mpi or "
                     "leat_init_ranks, or set them"};
  }
  return {};
}

std::string cleaned(std::string name) {
  for (char& c : name) {
    if (!node::valid_session_name(std::string("x") + c)) c = '_';
  }
  // Launchers put what differs from run to run at the end.
  constexpr std::size_t kMost = 64, kHead = 8;
  return name.size() <= kMost ? name
                              : name.substr(0, kHead) + name.substr(name.size() - (kMost - kHead));
}

std::string session_name(const Launcher* launcher) {
  std::string chosen = text_of("LEAT_SESSION");
  if (!chosen.empty()) return chosen;
  if (!launcher) {
    return "alone-" + std::to_string(getpid()) + "-" + std::to_string(os::now_ns());
  }
  const std::string job = text_of(launcher->job);
  if (job.empty()) {  // the parent's number counts in its own container only
    return cleaned(std::string(launcher->title) + "-" + std::to_string(getppid()) + "." +
                   std::to_string(os::this_space()));
  }
  const std::string step = text_of(launcher->step);
  return cleaned(std::string(launcher->title) + "-" + job + (step.empty() ? "" : "." + step));
}

}  // namespace

Result<Ranks> ranks_from_environment() {
  Ranks ranks;
  if (const Launcher* launcher = present_launcher()) {
    ranks.rank = number_of(launcher->rank);
    ranks.size = number_of(launcher->size);
    ranks.node_rank = number_of(launcher->node_rank);
    ranks.node_size = number_on_this_node(launcher->node_size);
  } else if (const Result<void> alone = refuse_lost_rank(); !alone) {
    return alone.error();
  }
  return complete_ranks(std::move(ranks));
}

Result<Ranks> complete_ranks(Ranks ranks) {
  if (ranks.session.empty()) ranks.session = session_name(present_launcher());
  const auto inside = [](int index, int count) { return index >= 0 && index < count; };
  if (!inside(ranks.rank, ranks.size) || !inside(ranks.node_rank, ranks.node_size) ||
      ranks.node_size > ranks.size) {
    return Error{Status::ERROR_ARGUMENT,
                 "these ranks make no sense: rank " + std::to_string(ranks.rank) + " of " +
                     std::to_string(ranks.size) + ", on its node " +
                     std::to_string(ranks.node_rank) + " of " + std::to_string(ranks.node_size)};
  }
  if (!node::valid_session_name(ranks.session)) {
    return Error{Status::ERROR_ARGUMENT,
                 "\"" + ranks.session +
                     "\" is no session name: use 1 to 64 letters, digits, '-', '_' or '.', "
                     "not starting with '.'"};
  }
  return ranks;
}

namespace {

// All call it at about the same time, as they do any other collective call.
constexpr std::int64_t kComeSeconds = 60;
// Reading the XML and starting a server have limits of their own, which are shorter.
constexpr int kStages = 3;
constexpr std::int64_t kPauseNs = 1'000'000;

// More than a name may have, so that all refuse one that is too long.
using SessionText = std::array<char, 128>;

SessionText chosen_session() {
  const char* const chosen = std::getenv("LEAT_SESSION");
  const std::string name =
      chosen && *chosen ? std::string(chosen)
                        : "mpi-" + std::to_string(getpid()) + "-" + std::to_string(os::now_ns());
  SessionText text{};
  name.copy(text.data(), text.size() - 1);
  return text;
}

// As bytes.
struct Outcome {
  std::int32_t status = 0;
  ServersMeet meet = ServersMeet::no;
  char message[4000] = "";
};

struct OfferText {
  std::uint64_t number = 0, size = 0;
  char bytes[sizeof(shm::Welcome::offers)] = "";
};

}  // namespace

std::int64_t come_limit_ns() {
  const char* const text = std::getenv("LEAT_SPLIT_TIMEOUT");
  const long long seconds = text ? std::atoll(text) : 0;
  return (seconds > 0 ? seconds : kComeSeconds) * 1'000'000'000;
}

std::int64_t stage_limit_ns() { return kStages * come_limit_ns(); }

// Sleeps in between: a rank that is stopped, or never comes, costs the others no core.
Result<void> await_all(const leat_group& group, std::int64_t limit_ns, const std::string& what) {
  const os::Deadline deadline = os::Deadline::in_ns(limit_ns);
  for (std::int32_t begin = 1; group.arrive(group.context, begin) == 0; begin = 0) {
    if (deadline.passed()) {
      return Error{Status::ERROR_TIMEOUT,
                   what + " within " + std::to_string(limit_ns / 1'000'000'000) +
                       " s; the communicator cannot be used any more: end the job"};
    }
    os::sleep_ns(kPauseNs);
  }
  return {};
}

std::int32_t rank_with_worst(const leat_group& group, Status own, bool has_nothing_to_say) {
  constexpr std::int64_t kOfStatus = std::int64_t{1} << 33, kSilent = std::int64_t{1} << 32;
  std::int64_t worst = static_cast<int>(own) * kOfStatus + group.rank;
  if (has_nothing_to_say) worst += kSilent;
  group.least(group.context, &worst);
  return static_cast<std::int32_t>(worst & 0xffffffff);
}

void find_place_on_node(const leat_group& group, std::int32_t* rank, std::int32_t* size) {
  const std::int32_t own = number_of("LEAT_PRETEND_NODE");
  if (own < 0) return group.node(group.context, rank, size);
  *rank = *size = 0;
  for (std::int32_t each = 0; each < group.size; ++each) {
    std::int32_t other = own;
    group.broadcast(group.context, &other, sizeof other, each);
    *rank += other == own && each < group.rank;
    *size += other == own;
  }
}

Result<Ranks> ranks_of(const leat_group& group) {
  Ranks ranks;
  ranks.rank = group.rank;
  ranks.size = group.size;
  std::int32_t node_rank = 0, node_size = 1;
  find_place_on_node(group, &node_rank, &node_size);
  ranks.node_rank = node_rank;
  ranks.node_size = node_size;
  SessionText session = group.rank == 0 ? chosen_session() : SessionText{};
  group.broadcast(group.context, session.data(), static_cast<std::int32_t>(session.size()), 0);
  session.back() = 0;
  ranks.session = session.data();
  return complete_ranks(std::move(ranks));
}

bool agree_on(const leat_group& group, Error* own, bool* speaks, ServersMeet* meet) {
  const Result<void> come =
      await_all(group, stage_limit_ns(), "other ranks have not come out of it");
  if (!come) {
    *own = come.error();
    *speaks = true;
    return false;
  }
  const std::int32_t root = rank_with_worst(group, own->status, *meet == ServersMeet::unknown);
  Outcome outcome{static_cast<std::int32_t>(own->status), *meet, ""};
  own->message.copy(outcome.message, sizeof outcome.message - 1);
  group.broadcast(group.context, &outcome, sizeof outcome, root);
  *speaks = group.rank == root;
  if (!*speaks) *own = {static_cast<Status>(outcome.status), outcome.message};
  *meet = own->status == Status::OK ? outcome.meet : ServersMeet::no;
  return true;
}

// The lowest rank whose server has not been heard of says what that says, until there is none.
std::string gather_offers(const leat_group& group, const ServerOffer& own) {
  constexpr std::int64_t kNone = INT64_MAX;
  bool is_known = own.number == 0, leads = false;
  std::string all;
  for (;;) {
    std::int64_t next = is_known ? kNone : group.rank;
    group.least(group.context, &next);
    if (next == kNone) return leads ? all : "";
    OfferText text;
    if (next == group.rank) {
      text.number = own.number;
      text.size = (all.empty() ? own.as_first : own.bytes).copy(text.bytes, sizeof text.bytes);
    }
    group.broadcast(group.context, &text, sizeof text, static_cast<std::int32_t>(next));
    all.append(text.bytes, std::min<std::size_t>(text.size, sizeof text.bytes));
    if (text.number != own.number) continue;
    is_known = true;
    leads = next == group.rank;
  }
}

void await_printed(const leat_group& group) {
  std::int64_t nothing = 0;  // that nobody knows before all have come
  group.least(group.context, &nothing);
}

void take_part(const leat_group& group) {
  (void)ranks_of(group);
  Error well{Status::OK, ""};
  bool speaks = false;
  ServersMeet meet = ServersMeet::unknown;
  if (!agree_on(group, &well, &speaks, &meet)) return;
  if (well.status != Status::OK) await_printed(group);
  if (meet == ServersMeet::yes) (void)gather_offers(group, {});
}

}  // namespace leat::client
