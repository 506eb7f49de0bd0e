// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include "status.hpp"

#include <leat_mpi.h>

namespace leat::damaris {
namespace {

bool mpi_is_there() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  if (begun) MPI_Finalized(&ended);
  return begun && !ended;
}

}  // namespace

Environment::Environment(GivenXml config, MPI_Comm comm, Description description)
    : config_(std::move(config)),
      all_(comm),
      ranks_serve_(description.ranks_serve),
      placed_(std::move(description.placed)),
      types_(std::move(description.types)),
      parameters_(std::move(description.parameters)) {}

std::unique_ptr<Environment> Environment::initialize(const char* config, MPI_Comm comm, int* code) {
  constexpr const char* kCall = "damaris_initialize";
  if (!mpi_is_there()) {
    *code = refuse(DAMARIS_MPI_ERROR, kCall, "call it between MPI_Init and MPI_Finalize");
    return nullptr;
  }
  if (comm == MPI_COMM_NULL) {
    *code = refuse(DAMARIS_ARGUMENT_ERROR, kCall, "the communicator is MPI_COMM_NULL");
    return nullptr;
  }
  *code = DAMARIS_INIT_ERROR;
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &own);
  GivenXml xml;
  Description description;
  if (!xml.take(config, own) || !ask_for_description(xml.path(), own, &description)) {
    MPI_Comm_free(&own);
    return nullptr;
  }
  std::unique_ptr<Environment> made(new Environment(std::move(xml), own, std::move(description)));
  if (!made->ranks_serve_) {
    MPI_Comm_dup(own, &made->clients_);
    if (!made->begin_session()) return nullptr;
  }
  *code = DAMARIS_OK;
  return made;
}

// Well on all clients, or on none.
bool Environment::begin_session() {
  in_session_ = leat_init_mpi(config_.path(), clients_) == LEAT_OK;
  int all_well = in_session_;
  MPI_Allreduce(MPI_IN_PLACE, &all_well, 1, MPI_INT, MPI_MIN, clients_);
  if (!all_well) {
    if (in_session_) leat_finalize();
    in_session_ = false;
    return false;
  }
  role_ = Role::client;
  put_blocks_at_the_origin();
  return parameters_.session_began() == DAMARIS_OK;
}

// As Damaris has it, where the program never says where they lie.
void Environment::put_blocks_at_the_origin() const {
  const std::array<std::int64_t, LEAT_MAX_DIMS> origin{};
  for (const auto& [variable, blocks] : placed_) {
    for (std::uint32_t block = 0; block < blocks; ++block)
      leat_set_position(variable.c_str(), block, origin.data());
  }
}

int Environment::split() {
  const leat_status status = leat_split(config_.path(), all_, &clients_);
  if (status == LEAT_SERVED) {
    role_ = Role::server;
    return DAMARIS_OK;
  }
  if (status != LEAT_OK) return DAMARIS_INIT_ERROR;
  is_parted_ = clients_ != all_;
  return begin_session() ? DAMARIS_OK : DAMARIS_INIT_ERROR;
}

int Environment::start(int* is_client) {
  int code = DAMARIS_OK;
  if (role_ == Role::waits_for_start) {
    code = split();
  } else if (role_ == Role::client && !in_session_) {
    code = begin_session() ? DAMARIS_OK : DAMARIS_INIT_ERROR;
  }
  *is_client = role_ == Role::client;
  return code;
}

// Ranks that serve come back from damaris_start at the end of the session. A server of its own
// stays: there may be another damaris_start.
int Environment::stop() { return is_parted_ ? end_session() : int{DAMARIS_OK}; }

int Environment::end_session() {
  if (!in_session_) return DAMARIS_OK;
  parameters_.session_ends();
  in_session_ = false;
  return leat_finalize() == LEAT_OK ? DAMARIS_OK : DAMARIS_FINALIZE_ERROR;
}

int Environment::finalize() {
  const int code = end_session();
  config_.remove();
  return code;
}

int Environment::type_of(const char* variable, DAMARIS_TYPE_STR* type) {
  constexpr const char* kCall = "damaris_get_type";
  if (!variable || !type)
    return refuse(DAMARIS_ARGUMENT_ERROR, kCall, "the name or the pointer to fill is NULL");
  *type = DAMARIS_TYPE_UNDEFINED;
  const auto found = types_.find(std::string_view(variable));
  if (found != types_.end()) {
    *type = static_cast<DAMARIS_TYPE_STR>(found->second);
    return DAMARIS_OK;
  }
  if (in_session_)
    leat_wanted(variable);  // says which one may be meant
  else
    std::fprintf(stderr, "leat: %s: the XML has no variable \"%s\"\n", kCall, variable);
  return DAMARIS_UNDEFINED_VARIABLE;
}

int Environment::end_iteration() {
  ++iteration_;
  return code_of(leat_end_iteration());
}

int Environment::bind(const char* signal, signal_t function) {
  constexpr const char* kCall = "damaris_bind";
  if (!signal) return refuse(DAMARIS_ARGUMENT_ERROR, kCall, "the name is NULL");
  if (!function) return refuse(DAMARIS_BIND_ERROR, kCall, "the function is NULL");
  bound_[signal] = function;
  return refuse(DAMARIS_OK, kCall,
                "the function is called by the rank that signals, within damaris_signal: the "
                "server is another process");
}

int Environment::signal(const char* name) {
  if (!name) return refuse(DAMARIS_ARGUMENT_ERROR, "damaris_signal", "the name is NULL");
  const auto found = bound_.find(std::string_view(name));
  if (found == bound_.end()) return code_of(leat_signal(name), Named::event);
  int rank = 0;
  MPI_Comm_rank(clients_, &rank);
  found->second(name, rank, static_cast<std::int32_t>(iteration_), nullptr);
  return DAMARIS_OK;
}

}  // namespace leat::damaris
