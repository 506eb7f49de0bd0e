// SPDX-License-Identifier: Apache-2.0
// The calls that hand blocks over: their shape, one copy or none, and the event. Member functions return the status of
// the C call, and have complained when it is an error. They are called with the lock held, and let it go while they copy
// much or wait.
#pragma once

#include <cstdint>

#include "client-api/session/channel.hpp"
#include "client-api/session/failures.hpp"
#include "client-api/session/variable_table.hpp"

struct leat_array;

namespace leat::client {

/// What a write copies.
struct Source {
  const void* data;
  const ArrayView* array = nullptr;  ///< null: as dense as the block will be
};

class BlockWriter {
 public:
  BlockWriter(Channel& channel, VariableTable& variables, Failures& failures);

  /// `type`: a leat_type, or 0 where it is not known.
  Status write(const Call& call, const char* name, std::uint32_t block, const void* data,
               std::int32_t type = 0);
  Status write_array(const Call& call, const char* name, std::uint32_t block,
                     const leat_array* array);
  Status alloc(const Call& call, const char* name, std::uint32_t block, void** data,
               bool column_major = false);
  Status alloc_array(const Call& call, const char* name, std::uint32_t block, leat_array* array);
  Status commit(const Call& call, const char* name, std::uint32_t block);

  // Blocks that another server of the run has taken from this rank already, as it has them; for staging nodes.

  /// Memory for the data, which the caller fills. UNWANTED, DROPPED: nobody wants them. ERROR_TIMEOUT: there was none in time,
  /// and nothing is lost by that: the caller may ask again. ERROR_ARGUMENT: there is no such variable. ERROR_SHAPE: it was
  /// written into an array of other global extents than the parameters here make; it counts as lost. `global`: those, where
  /// the block has a place in a global array.
  Status alloc_as(const Call& call, std::uint32_t variable, std::uint32_t block,
                  const BlockShape& shape, const std::int64_t* global, void** data);
  /// `checksum`: CRC-32C of what is at `data` now; null: it is computed where the XML asks for one.
  Status commit_at(const Call& call, void* data, const std::uint32_t* checksum);
  /// They were not filled, and never will be.
  void give_back(void* data) noexcept {
    channel_.memory().give_back(
        segment_.offset_of(static_cast<char*>(data) - sizeof(shm::BlockHeader)));
  }

  Status set_extent(const Call& call, const char* name, std::uint32_t block,
                    const NumberList& extent);
  Status set_position(const Call& call, const char* name, std::uint32_t block,
                      const NumberList& position);
  Status wanted(const Call& call, const char* name);
  /// Of the iteration that this rank is in.
  Status count(const Call& call, const char* name, std::int64_t* count) {
    std::uint32_t variable = 0;
    Status status = Status::OK;
    if (!count)
      return failures_.complain(call, {Status::ERROR_ARGUMENT, "the pointer to fill is NULL"}, "");
    if (!names_.find_variable(call, name, &variable, &status)) return status;
    *count = variables_.count(variable, channel_.iteration());
    return Status::OK;
  }

  /// Something was handed over, or left out, since the iteration began.
  bool wrote_since_end() const noexcept { return wrote_since_end_; }
  /// Some of it varies in time.
  bool wrote_varying() const noexcept {
    return waited_for_varying_ || variables_.has_varying(channel_.iteration());
  }
  /// `has_constants`: what was written before, which does not vary in time, is of this iteration.
  void begin_iteration(bool has_constants) noexcept {
    wrote_since_end_ = has_constants;
    waited_for_varying_ = false;
  }

 private:
  /// The shape of a block; null, with the status of the call, when there is none.
  const BlockShape* shape_of(const Call& call, std::uint32_t variable, BlockState& state,
                             bool column_major, Status* status) {
    const BlockShape* const known = variables_.known_shape(state);
    return known ? known : compute_shape(call, variable, state, column_major, status);
  }
  const BlockShape* compute_shape(const Call& call, std::uint32_t variable, BlockState& state,
                                  bool column_major, Status* status);
  /// The rest of a write once its shape is known: reserves, copies without the lock, hands over.
  Status write_from(const Call& call, std::uint32_t variable, std::uint32_t block,
                    BlockState& state, const BlockShape& shape, const Source& source);
  /// Space for a block of the shape that is `known` now, and its header. Lets go of the lock while
  /// it waits.
  Status reserve(const Call& call, std::uint32_t variable, std::uint32_t block,
                 const BlockShape& known, std::uint64_t* offset);
  Status await_memory(const Call& call, os::WaitBudget budget, std::uint32_t variable,
                      std::uint64_t bytes, std::uint64_t* offset);
  void begin_block(std::uint64_t offset, std::uint32_t variable, std::uint32_t block,
                   const BlockShape& shape) noexcept;
  /// Copies into the block at `offset`, with its checksum where the XML asks for one. Needs no
  /// lock.
  void copy_into(std::uint64_t offset, const Source& source, std::uint64_t bytes) noexcept;
  /// The same for data that the caller has put there; without the lock while it reads them.
  void add_checksum(const Call& call, std::uint64_t offset) noexcept;
  Status push_block(const Call& call, std::uint32_t variable, BlockState& state,
                    std::uint64_t offset, std::int64_t begun_ns) {
    if (!channel_.push_block_at_once(offset, begun_ns)) {
      const Status status = await_push(call, variable, offset, begun_ns);
      if (status != Status::OK) return status;
    }
    state.handed_over_in = channel_.iteration();
    wrote_since_end_ = true;
    return Status::OK;
  }
  /// Of a write that had to wait, and may be left out: it was one all the same.
  void note_wait(std::uint32_t variable) noexcept {
    wrote_since_end_ = true;
    waited_for_varying_ = waited_for_varying_ || !variables_.is_constant(variable);
  }
  Status await_push(const Call& call, std::uint32_t variable, std::uint64_t offset,
                    std::int64_t begun_ns);
  Status lose_type(const Call& call, std::uint32_t variable, std::int32_t type);
  Status lose_null(const Call& call, std::uint32_t variable);
  Status lose_for(const Call& call, Status status, std::uint32_t variable, std::uint64_t bytes);
  /// Whether what was handed over is left out, as it may be since a look before it.
  Status unless_dropped(Status status) const noexcept;

  const shm::Segment& segment_;
  Channel& channel_;
  VariableTable& variables_;
  Failures& failures_;
  BlockNames names_;
  const bool checksums_;
  const bool drops_iterations_;  // as when-full says
  bool wrote_since_end_ = false, waited_for_varying_ = false;
};

}  // namespace leat::client
