// SPDX-License-Identifier: Apache-2.0
// The calls that hand over no block: parameters, levels of blocks, signals, and where this rank has nothing to do.
// Called with the session's lock held; member functions that return a status return that of the C call, and have
// complained when it is an error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client-api/session/channel.hpp"
#include "client-api/session/declared.hpp"
#include "client-api/session/failures.hpp"
#include "client-api/session/variable_table.hpp"
#include "lib/shm/catalogue.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/steering.hpp"

namespace leat::client {

/// Parameters that are set are kept here, so that later layouts use them, and told to the server;
/// they are got from here, steered values among them.
class ParameterCalls {
 public:
  ParameterCalls(std::uint32_t client, Channel& channel, VariableTable& variables,
                 Failures& failures);

  Status set_integer(const Call& call, const char* name, std::int64_t value);
  /// Of names with commas between, in their order.
  Status set_integers(const Call& call, const char* names, const NumberList& values);
  Status set_real(const Call& call, const char* name, double value);
  Status set_reals(const Call& call, const char* names, const RealList& values);
  Status set_text(const Call& call, const char* name, const std::string& value);
  /// `*value` is untouched after an error.
  Status get_integer(const Call& call, const char* name, std::int64_t* value);
  Status get_real(const Call& call, const char* name, double* value);
  Status get_text(const Call& call, const char* name, char* text, std::uint64_t size,
                  std::uint64_t* needed);
  /// Gives one that has no value the one that it had in a checkpoint. What is called otherwise now, or is of another type, has
  /// none to give.
  Status restore(const Call& call, const std::string& name, const ParameterValue& value);
  /// Takes the values that are steered from this iteration on.
  void enter(std::int64_t iteration);
  /// From here on each of them is told when it is taken. For staging nodes.
  void tell_steered(
      std::function<void(const std::string& name, const ParameterValue& value)> tell) {
    tell_steered_ = std::move(tell);
  }

 private:
  template <class Values, class Set>
  Status set_each(const Call& call, const char* names, const Values& values, Set set);
  bool find(const Call& call, const char* name, std::uint32_t* index, Status* status);
  bool find_to_set(const Call& call, const char* name, std::uint32_t kind, std::uint32_t* index,
                   Status* status);
  bool find_to_get(const Call& call, const char* name, const void* value, std::uint32_t kind,
                   std::uint32_t* index, Status* status);
  Status wrong_kind(const Call& call, std::uint32_t parameter, const char* verb);
  Status push(const Call& call, shm::EventKind kind, std::uint32_t parameter, std::uint64_t bits);
  Status not_taken_yet(const Call& call, Status status);

  Channel& channel_;
  VariableTable& variables_;
  Failures& failures_;
  ParameterTable parameters_;
  shm::SteeringReader steering_;
  std::function<void(const std::string&, const ParameterValue&)> tell_steered_;
};

/// Which level a block of an amr mesh is of, and where.
class MeshCalls {
 public:
  MeshCalls(const shm::Catalogue& catalogue, VariableTable& variables, Failures& failures);

  /// For this block of all variables on the mesh. When it fails nothing is changed.
  Status set_level(const Call& call, const char* mesh, std::uint32_t block, std::int32_t level,
                   const NumberList& position);

 private:
  struct AmrMesh {
    std::string_view name, where;
    std::int64_t dims;
    std::int32_t levels;  ///< 0: not known
    std::vector<std::uint32_t> variables;
  };

  const AmrMesh* find(std::string_view name) const noexcept;
  Error not_found(std::string_view name) const;
  Error refuses(const AmrMesh& mesh, std::uint32_t block, std::int32_t level,
                const NumberList& position) const;

  shm::Catalogue catalogue_;
  VariableTable& variables_;
  Failures& failures_;
  std::vector<AmrMesh> meshes_;
};

/// Signals of events of the XML.
class SignalCalls {
 public:
  SignalCalls(Channel& channel, const std::string& config, Failures& failures);

  /// In the iteration that this rank is in. Waits only when the ring is full; after an error
  /// nothing was signalled.
  Status signal(const Call& call, const char* event);
  /// This iteration has to be ended, be there blocks or not.
  bool any_since_end() const noexcept { return any_since_end_; }
  void begin_iteration() noexcept { any_since_end_ = false; }

 private:
  Error unknown(std::string_view name) const;
  Status not_taken(const Call& call, Status status, const std::string& name);

  Channel& channel_;
  std::string config_;
  Failures& failures_;
  std::unordered_map<std::string_view, std::uint32_t> events_;
  bool any_since_end_ = false;
};

// Told to plugins that work then. Called by one thread.

/// Collectives of all ranks of the run, counted: where they are, nodes are at the same moment.
class Collectives {
 public:
  /// `client`: on this node; `ranks`: of the run.
  Collectives(const shm::Segment& segment, std::uint32_t client, std::int64_t ranks) noexcept
      : server_(segment.server_state()), lane_(*segment.client(client).client), ranks_(ranks) {}

  /// This rank comes out of one of so many ranks; 0: of all. Others do not count.
  void passed(std::int64_t ranks) noexcept;
  /// This rank ends the iteration.
  void iteration_ends(std::int64_t iteration) noexcept;

 private:
  shm::ServerState& server_;
  shm::ClientLane& lane_;
  std::int64_t ranks_;
};

/// Phases in which this rank has nothing to do: told to plugins that work in them, where they are
/// long enough to be worth it.
class IdlePhases {
 public:
  /// `client`: on this node.
  IdlePhases(Channel& channel, std::uint32_t client) noexcept
      : channel_(channel),
        server_(channel.segment().server_state()),
        lane_(*channel.segment().client(client).client) {}

  /// One within another is part of that. `site`: where in the code; what a phase is like is known from
  /// those of the same site before.
  void begin(std::string_view site) noexcept;
  void end() noexcept;

 private:
  /// What is known of the phases of one place.
  struct Site {
    std::uint64_t name = 0;  // its hash; 0: nobody's
    std::uint64_t phases = 0;
    std::int64_t ns = 0;

    bool is_worth_it() const noexcept;
  };
  static constexpr std::size_t kSites = 512;  // beyond, all others are one

  Site& site_of(std::string_view name) noexcept;

  Channel& channel_;
  shm::ServerState& server_;
  shm::ClientLane& lane_;
  std::array<Site, kSites> sites_{};
  Site* current_ = nullptr;
  int depth_ = 0;
  std::int64_t begun_ns_ = 0;
  bool is_told_ = false;
};

}  // namespace leat::client
