// SPDX-License-Identifier: Apache-2.0
// Who this process is in its simulation, by what launchers put into the environment or by a communicator; and what the
// processes of a communicator do together.
#pragma once

#include <cstdint>
#include <string>

#include "client-api/api/leat_build.h"
#include "lib/base/status.hpp"

namespace leat::client {

/// Who this process is in its simulation.
struct Ranks {
  int rank = 0, size = 1, node_rank = 0, node_size = 1;
  std::string session;  ///< valid_session_name
};

/// Reads Open MPI's, MPICH's and Intel MPI's (Hydra), Slurm's and PALS' variables, in this order;
/// without any of them the process is alone. An error when they name a rank but not its node.
/// LEAT_SESSION overrides the session's name. Sources: mpirun(1) of Open MPI 4.1
/// (OMPI_COMM_WORLD_*), PMIx (PMIX_NAMESPACE), the Hydra documentation (PMI_RANK, MPI_LOCALRANKID),
/// srun(1) (SLURM_*), and for HPE PALS, which sets no size of its own, src/plugins/mpi/cray_shasta
/// of Slurm, which imitates it (PALS_*, PMI_LOCAL_RANK, PMI_LOCAL_SIZE).
Result<Ranks> ranks_from_environment();

/// Checks ranges and the session's name; an empty session is taken as ranks_from_environment takes
/// it.
Result<Ranks> complete_ranks(Ranks ranks);

// What the processes of a communicator do together: come to a point, within a limit, and agree. All of it is collective
// over the group, whose calls are made by the calling thread.

/// For what all do at about the same time; LEAT_SPLIT_TIMEOUT has other seconds.
std::int64_t come_limit_ns();
/// For what may begin with the start of a server.
std::int64_t stage_limit_ns();

/// Waits until all have come. `what` has happened when they do not; then the group cannot be used any more.
Result<void> await_all(const leat_group& group, std::int64_t limit_ns, const std::string& what);

/// The rank with the worst status, the same on all; the first of them, and so the first of all when all is well, but for those
/// that have nothing to say.
std::int32_t rank_with_worst(const leat_group& group, Status own, bool has_nothing_to_say = false);

/// Among the ranks of its node. `leat launch --pretend-nodes` says by LEAT_PRETEND_NODE, to all ranks, which one that is.
void find_place_on_node(const leat_group& group, std::int32_t* rank, std::int32_t* size);

/// Who this process is: the first rank names the session, by LEAT_SESSION if that is set.
Result<Ranks> ranks_of(const leat_group& group);

/// Whether the servers of the ranks have others to meet. Unknown: to a process that has Leat switched off.
enum class ServersMeet : std::int32_t { unknown, no, yes };
/// The worst error of all, on all, and when all is well whether servers meet; within a limit. *speaks: it came about on this rank.
/// False: others have not come, and *own says so.
bool agree_on(const leat_group& group, Error* own, bool* speaks, ServersMeet* meet);
/// After an error on which all have agreed, and which who speaks has printed: none returns, and ends the job by that, before.
void await_printed(const leat_group& group);

/// What a server says of itself to the other servers of its run.
struct ServerOffer {
  std::uint64_t number = 0;  ///< 0: it meets none
  std::string as_first{};    ///< when it is the first of all
  std::string bytes{};       ///< else
};
/// Collective when agree_on() has said that servers meet. Of all of them, in the order of the lowest ranks that they have, one
/// after the other: on the lowest rank of each server, which tells it; "" on all others.
std::string gather_offers(const leat_group& group, const ServerOffer& own);

/// Of a process that has Leat switched off among others that may not have.
void take_part(const leat_group& group);

}  // namespace leat::client
