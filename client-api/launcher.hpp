// SPDX-License-Identifier: Apache-2.0
// Who this process is, from what launchers put into the environment.
#pragma once

#include <string>

#include "lib/base/status.hpp"

namespace leat::client {

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

}  // namespace leat::client
