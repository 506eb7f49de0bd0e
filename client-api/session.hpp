// SPDX-License-Identifier: Apache-2.0
// One process' part in a run: everything behind the C API between leat_init and leat_finalize.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "client-api/channel.hpp"
#include "client-api/launcher.hpp"
#include "client-api/parameter_values.hpp"
#include "client-api/rendezvous.hpp"
#include "client-api/variable_table.hpp"

struct leat_array;

namespace leat::client {

/// One call of the C API: its name for messages, the session's lock, and how long it may wait.
struct Call {
  const char* name;
  Lock& lock;
};

/// What a write copies.
struct Source {
  const void* data;
  const ArrayView* array = nullptr;  ///< null: as dense as the block will be
};

/// Member functions return the status of the C call and have called fail() with the message when it
/// is an error. They are called with the lock held, and let it go while they copy or wait.
class Session {
 public:
  /// `since_ns`: when this rank began to come; see platform::LateRanks.
  static Result<std::unique_ptr<Session>> open(const std::string& config, const Ranks& ranks,
                                               std::int64_t since_ns);

  /// Of one that is connected already, and has the segment mapped.
  static std::unique_ptr<Session> join(ServerStart start, Connection connection,
                                       shm::Segment segment);

  Status write(Call& call, const char* variable, std::uint32_t block, const void* data);
  Status alloc(Call& call, const char* variable, std::uint32_t block, void** data,
               bool column_major = false);
  Status write_array(Call& call, const char* variable, std::uint32_t block,
                     const leat_array* array);
  Status alloc_array(Call& call, const char* variable, std::uint32_t block, leat_array* array);
  Status commit(Call& call, const char* variable, std::uint32_t block);
  Status set_extent(Call& call, const char* variable, std::uint32_t block,
                    const NumberList& extent);
  Status set_position(Call& call, const char* variable, std::uint32_t block,
                      const NumberList& position);
  Status end_iteration(Call& call);
  Status set_integer(Call& call, const char* parameter, std::int64_t value);
  Status set_real(Call& call, const char* parameter, double value);
  Status set_text(Call& call, const char* parameter, const std::string& value);
  /// `*value` is untouched after an error.
  Status get_integer(Call& call, const char* parameter, std::int64_t* value);
  Status get_real(Call& call, const char* parameter, double* value);
  Status get_text(Call& call, const char* parameter, char* text, std::uint64_t size,
                  std::uint64_t* needed);
  Status wanted(Call& call, const char* variable);
  std::int64_t iteration() const noexcept { return iteration_; }
  const Ranks& ranks() const noexcept { return ranks_; }

  /// Tells the server that this client is done. Nothing else may be called afterwards but
  /// await_drained.
  void detach(Call& call) noexcept;
  /// Waits until the server has stored everything; no lock is needed.
  Status await_drained(const char* call_name);

  /// In a child that was forked: lets go of all that tells the server that this rank lives. Nothing
  /// else may be called afterwards.
  void leave_to_parent() noexcept;

 private:
  // Files number blocks with 32 bits and a sign.
  static constexpr std::uint32_t kMostBlock = std::numeric_limits<std::int32_t>::max();

  Session(ServerStart start, Connection connection, shm::Segment segment);
  static Result<shm::Segment> take_place(const std::string& name, std::uint32_t place);
  Result<Connection> find_successor(const TellHeld& tell_held, std::int64_t limit_ns) noexcept;

  bool find_variable(Call& call, const char* name, std::uint32_t* index, Status* status);
  bool find_block(Call& call, const char* name, std::uint32_t block, std::uint32_t* index,
                  Status* status);
  /// Like find_block, and the list in C order: there must be as many numbers as dimensions.
  bool find_with_list(Call& call, const char* name, std::uint32_t block, const NumberList& list,
                      std::uint32_t* variable, std::array<std::int64_t, kMaxDims>* numbers,
                      Status* status);
  /// Like find_block, for a call that would have handed data over.
  bool find_to_write(Call& call, const char* name, std::uint32_t block, std::uint32_t* index,
                     Status* status) {
    const std::int64_t found = name && block <= kMostBlock ? variables_.find(name) : -1;
    *index = static_cast<std::uint32_t>(found);
    return found >= 0 || lose_unless_found(call, name, block, index, status);
  }
  bool lose_unless_found(Call& call, const char* name, std::uint32_t block, std::uint32_t* index,
                         Status* status);
  bool find_parameter(Call& call, const char* name, std::uint32_t* index, Status* status);
  bool find_to_set(Call& call, const char* name, std::uint32_t kind, std::uint32_t* index,
                   Status* status);
  bool find_to_get(Call& call, const char* name, const void* value, std::uint32_t kind,
                   std::uint32_t* index, Status* status);
  Status wrong_kind(Call& call, std::uint32_t parameter, const char* verb);
  /// The rest of a write once its shape is known: reserves, copies without the lock, hands over.
  Status write_from(Call& call, const char* name, std::uint32_t variable, std::uint32_t block,
                    const BlockShape& shape, const Source& source);
  /// Space for a block of the shape that is `known` now. Lets go of the lock while it waits.
  Status reserve(Call& call, std::uint32_t variable, const BlockShape& known, std::uint32_t block,
                 std::uint64_t* offset);
  Status await_memory(Call& call, std::uint32_t variable, std::uint64_t bytes,
                      std::uint64_t* offset);
  void begin_block(std::uint64_t offset, std::uint32_t variable, std::uint32_t block,
                   const BlockShape& shape) noexcept;
  /// Copies into the block at `offset`, with its checksum where the XML asks for one. Needs no
  /// lock.
  void copy_into(std::uint64_t offset, const Source& source) noexcept;
  /// The same for data that the caller has put there; without the lock while it reads them.
  void add_checksum(Call& call, std::uint64_t offset) noexcept;
  Status push_block(Call& call, std::uint32_t variable, std::uint32_t block, std::uint64_t offset);
  Status push_parameter(Call& call, shm::EventKind kind, std::uint32_t parameter,
                        std::uint64_t bits);
  Status not_taken_yet(Call& call, Status status);
  bool drops_iterations() const noexcept;
  void count_lost(std::string_view variable, const Error& error);
  /// `bytes`: of the write; 0 when it is not known.
  Status lose(Call& call, std::uint32_t variable, const Error& error, std::uint64_t bytes = 0);
  void tell_lost(std::uint32_t variable, Status status, std::uint64_t bytes);
  Error explain_refusal(const std::string& room, const Channel::Refusal& refusal) const;
  Error explain(Status status, std::uint32_t variable, std::uint64_t bytes) const;
  /// Keeps the message for leat_last_error; the first of a kind goes to the server, which says it
  /// once for all ranks, or is printed where there is none.
  Status complain(Call& call, const Error& error, std::string_view subject) noexcept;
  bool report(std::uint32_t number, std::string_view subject, const std::string& text) noexcept;
  shm::Event event_of(shm::EventKind kind) const noexcept;
  /// This rank is in iteration_ from now on: takes the values that are steered from it on.
  void enter_iteration();
  Status end_of_drain(const char* call_name, const std::string& says, Status server_status,
                      bool speaks);

  ServerStart start_;
  const Ranks& ranks_;
  int server_pid_;
  shm::Segment segment_;
  Channel channel_;
  VariableTable variables_;
  ParameterValues parameters_;
  shm::SteeringReader steering_;
  std::int64_t iteration_ = 0;
  bool wrote_since_end_ = false;
  std::uint64_t lost_ = 0;       ///< writes that failed
  std::uint32_t last_kind_ = 0;  ///< of the failure that was complained of last
  std::string first_lost_;
};

}  // namespace leat::client
