// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/block_writer.hpp"

#include <cstring>

#include "client-api/api/leat.h"
#include "client-api/session/channel.hpp"
#include "client-api/session/packing.hpp"
#include "lib/os/crc32c.hpp"

namespace leat::client {
namespace {

using os::WaitBudget;

// Other threads wait less for such a copy than letting go of the lock, and taking it again, costs.
constexpr std::uint64_t kShortCopy = 4096;
// For memory of what has come from another server: no rank waits for that.
constexpr std::int64_t kPatienceNs = 60'000'000'000;
// Of a shorter one the time is not worth what looking at the clock costs.
constexpr std::uint64_t kTimedCopy = 32 * 1024;

[[gnu::noinline]] Error no_pointer() {
  return {Status::ERROR_ARGUMENT, "the pointer to fill is NULL"};
}

[[gnu::noinline]] Error has_other_size(const char* name) {
  return {Status::ERROR_STATE, "\"" + std::string(name) +
                                   "\" has memory of another size since an earlier leat_alloc: "
                                   "commit that first"};
}

[[gnu::noinline]] Error has_no_memory(const char* name, std::uint32_t block) {
  return {Status::ERROR_STATE, "block " + std::to_string(block) + " of \"" + std::string(name) +
                                   "\" has no memory from leat_alloc"};
}

}  // namespace

BlockWriter::BlockWriter(Channel& channel, VariableTable& variables, Failures& failures)
    : segment_(channel.segment()),
      channel_(channel),
      variables_(variables),
      failures_(failures),
      names_(variables, failures),
      checksums_(segment_.header().checksums != 0),
      drops_iterations_(segment_.header().overflow_policy ==
                        static_cast<std::uint32_t>(shm::OverflowPolicy::drop_iteration)) {}

[[gnu::noinline]] const BlockShape* BlockWriter::compute_shape(const Call& call,
                                                               std::uint32_t variable,
                                                               BlockState& state, bool column_major,
                                                               Status* status) {
  Error error;
  const BlockShape* const shape = variables_.shape(variable, state, &error, column_major);
  if (!shape) *status = failures_.lose(call, variable, error);
  return shape;
}

// The rest is the channel's.
inline void BlockWriter::begin_block(std::uint64_t offset, std::uint32_t variable,
                                     std::uint32_t block, const BlockShape& shape) noexcept {
  variables_.mark_written(variable);
  shm::BlockHeader& header = *segment_.at<shm::BlockHeader>(offset);
  header.variable = variable;
  header.block = block;
  shape.write_to(&header);
  header.checksum = 0;
  header.has_checksum = 0;
}

inline Status BlockWriter::reserve(const Call& call, std::uint32_t variable, std::uint32_t block,
                                   const BlockShape& known, std::uint64_t* offset) {
  if (channel_.reserve_at_once(known.bytes, offset)) {
    begin_block(*offset, variable, block, known);
    return Status::OK;
  }
  const BlockShape shape = known;  // another thread may change it while this one waits
  Status status = await_memory(call, channel_.budget(), variable, shape.bytes, offset);
  if (status == Status::OK) begin_block(*offset, variable, block, shape);
  if (status != Status::OK && status != Status::DROPPED)
    status = lose_for(call, status, variable, shape.bytes);
  return status;
}

[[gnu::noinline]] Status BlockWriter::await_memory(const Call& call, WaitBudget budget,
                                                   std::uint32_t variable, std::uint64_t bytes,
                                                   std::uint64_t* offset) {
  const InsideTime time(channel_, shm::SpanKind::buffer);
  const std::int64_t iteration = channel_.iteration();
  Status status = channel_.reserve(call.lock, budget, bytes, iteration, offset);
  if (status == Status::ERROR_FULL && drops_iterations_ && iteration == channel_.iteration()) {
    note_wait(variable);  // so that leat_finalize ends it, which says the same once more
    status = channel_.drop(iteration);
  }
  return status;
}

[[gnu::noinline]] Status BlockWriter::lose_for(const Call& call, Status status,
                                               std::uint32_t variable, std::uint64_t bytes) {
  const WantedBlock wanted{variables_.name(variable), bytes, variables_.config()};
  return failures_.lose(call, variable, explain_no_memory(status, wanted, channel_), bytes);
}

inline void BlockWriter::copy_into(std::uint64_t offset, const Source& source,
                                   std::uint64_t bytes) noexcept {
  shm::BlockHeader& header = *segment_.at<shm::BlockHeader>(offset);
  void* const to = &header + 1;
  if (checksums_) {
    header.has_checksum = 1;
    if (source.array)
      header.checksum = pack_with_checksum(to, *source.array);
    else if (bytes > 0)
      header.checksum = os::copy_crc32c(to, source.data, bytes);
  } else if (source.array) {
    pack(to, *source.array);
  } else if (bytes > 0) {
    std::memcpy(to, source.data, bytes);
  }
}

void BlockWriter::add_checksum(const Call& call, std::uint64_t offset) noexcept {
  if (!checksums_) return;
  shm::BlockHeader& header = *segment_.at<shm::BlockHeader>(offset);
  call.lock.unlock();
  header.checksum = os::crc32c(&header + 1, header.data_bytes);
  header.has_checksum = 1;
  call.lock.lock();
}

[[gnu::noinline]] Status BlockWriter::await_push(const Call& call, std::uint32_t variable,
                                                 std::uint64_t offset, std::int64_t begun_ns) {
  const InsideTime time(channel_, shm::SpanKind::ring);
  const std::uint64_t data_bytes = segment_.at<shm::BlockHeader>(offset)->data_bytes;
  WaitBudget budget = channel_.budget();
  const Status status = channel_.push_block(call.lock, budget, offset, begun_ns);
  if (status != Status::OK) channel_.memory().give_back(offset);
  if (status == Status::OK || drops_iterations_) note_wait(variable);
  if (status == Status::ERROR_FULL && drops_iterations_) return channel_.drop(channel_.iteration());
  if (status != Status::OK) return lose_for(call, status, variable, data_bytes);
  return unless_dropped(status);
}

Status BlockWriter::unless_dropped(Status status) const noexcept {
  const bool is_dropped = status == Status::OK && channel_.is_dropped(channel_.iteration());
  return is_dropped ? Status::DROPPED : status;
}

// Flat: a small block costs little more than the calls within.
[[gnu::flatten]] Status BlockWriter::write(const Call& call, const char* name, std::uint32_t block,
                                           const void* data, std::int32_t type) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!names_.find_to_write(call, name, block, &variable, &status)) return status;
  if (!variables_.takes(variable, type)) return lose_type(call, variable, type);
  BlockState& state = variables_.block(variable, block);
  const BlockShape* const known = shape_of(call, variable, state, false, &status);
  return known ? write_from(call, variable, block, state, *known, {data}) : status;
}

inline Status BlockWriter::write_from(const Call& call, std::uint32_t variable, std::uint32_t block,
                                      BlockState& state, const BlockShape& known,
                                      const Source& source) {
  const std::uint64_t bytes = known.bytes;
  if (!source.data && bytes > 0) return lose_null(call, variable);
  if (!variables_.wanted(variable, state, channel_.iteration())) return Status::OK;
  if (channel_.is_dropped(channel_.iteration())) return Status::DROPPED;
  std::uint64_t offset = 0;
  const std::int64_t traced_ns = channel_.trace_clock();
  const Status status = reserve(call, variable, block, known, &offset);
  if (status != Status::OK) return status;
  if (bytes <= kShortCopy) {
    copy_into(offset, source, bytes);
    return push_block(call, variable, state, offset, traced_ns);
  }
  const std::int64_t begun_ns = bytes < kTimedCopy ? 0 : os::now_ns();
  call.lock.unlock();
  copy_into(offset, source, bytes);
  call.lock.lock();
  if (begun_ns != 0) channel_.count_inside(os::now_ns() - begun_ns);
  return unless_dropped(push_block(call, variable, state, offset, traced_ns));
}

[[gnu::noinline]] Status BlockWriter::lose_type(const Call& call, std::uint32_t variable,
                                                std::int32_t type) {
  const auto given = static_cast<ScalarType>(type);
  if (scalar_bytes(given) != 0)
    return failures_.lose(call, variable, variables_.declared(variable).differs(given));
  return failures_.lose(
      call, variable,
      {Status::ERROR_ARGUMENT, "the type " + std::to_string(type) + " is no leat_type"});
}

[[gnu::noinline]] Status BlockWriter::lose_null(const Call& call, std::uint32_t variable) {
  const std::string name(variables_.name(variable));
  return failures_.lose(call, variable,
                        {Status::ERROR_ARGUMENT, "the data of \"" + name + "\" are NULL"});
}

[[gnu::flatten]] Status BlockWriter::alloc(const Call& call, const char* name, std::uint32_t block,
                                           void** data, bool column_major) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!data) return failures_.complain(call, no_pointer(), "");
  *data = nullptr;
  if (!names_.find_to_write(call, name, block, &variable, &status)) return status;
  BlockState& state = variables_.block(variable, block);
  const BlockShape* const known = shape_of(call, variable, state, column_major, &status);
  if (!known) return status;
  if (state.allocated_offset == 0) {
    if (channel_.is_dropped(channel_.iteration())) return Status::DROPPED;
    std::uint64_t offset = 0;
    status = reserve(call, variable, block, *known, &offset);
    if (status != Status::OK) return status;
    state.allocated_offset = offset;
  } else if (segment_.at<shm::BlockHeader>(state.allocated_offset)->data_bytes != known->bytes) {
    return failures_.complain(call, has_other_size(name), name);
  }
  *data = segment_.at<char>(state.allocated_offset + sizeof(shm::BlockHeader));
  return Status::OK;
}

[[gnu::flatten]] Status BlockWriter::commit(const Call& call, const char* name,
                                            std::uint32_t block) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!names_.find(call, name, block, &variable, &status)) return status;
  BlockState& state = variables_.block(variable, block);
  const std::uint64_t offset = state.allocated_offset;
  if (offset == 0) return failures_.complain(call, has_no_memory(name, block), name);
  state.allocated_offset = 0;
  const std::int64_t traced_ns = channel_.trace_clock();
  add_checksum(call, offset);
  return unless_dropped(push_block(call, variable, state, offset, traced_ns));
}

Status BlockWriter::alloc_as(const Call& call, std::uint32_t variable, std::uint32_t block,
                             const BlockShape& shape, const std::int64_t* global, void** data) {
  *data = nullptr;
  if (!variables_.has(variable)) return Status::ERROR_ARGUMENT;
  if (!variables_.wanted(variable, variables_.block(variable, block), channel_.iteration()))
    return Status::UNWANTED;
  if (channel_.is_dropped(channel_.iteration())) return Status::DROPPED;
  Error error;
  if (shape.place == shm::Place::in_global && !variables_.has_global(variable, global, &error))
    return failures_.lose(call, variable, error, shape.bytes);
  std::uint64_t offset = 0;
  const WaitBudget budget = drops_iterations_ ? channel_.budget() : WaitBudget(kPatienceNs);
  const Status status = channel_.reserve_at_once(shape.bytes, &offset)
                            ? Status::OK
                            : await_memory(call, budget, variable, shape.bytes, &offset);
  if (status == Status::ERROR_FULL && channel_.memory().requests().refusal().in_use == 0)
    return Status::ERROR_TIMEOUT;
  if (status == Status::DROPPED) return status;
  if (status != Status::OK) return lose_for(call, status, variable, shape.bytes);
  begin_block(offset, variable, block, shape);
  *data = segment_.at<char>(offset + sizeof(shm::BlockHeader));
  return status;
}

Status BlockWriter::commit_at(const Call& call, void* data, const std::uint32_t* checksum) {
  shm::BlockHeader& header = static_cast<shm::BlockHeader*>(data)[-1];
  const std::uint64_t offset = segment_.offset_of(&header);
  const std::int64_t traced_ns = channel_.trace_clock();
  if (checksums_ && checksum) {
    header.checksum = *checksum;
    header.has_checksum = 1;
  } else {
    add_checksum(call, offset);
  }
  return unless_dropped(push_block(
      call, header.variable, variables_.block(header.variable, header.block), offset, traced_ns));
}

Status BlockWriter::set_extent(const Call& call, const char* name, std::uint32_t block,
                               const NumberList& extent) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  std::array<std::int64_t, kMaxDims> numbers{};
  if (!names_.find_with_list(call, name, block, extent, &variable, &numbers, &status))
    return status;
  const Result<void> set = variables_.set_extent(variable, variables_.block(variable, block),
                                                 numbers.data(), extent.column_major);
  return set ? Status::OK : failures_.complain(call, set.error(), name);
}

Status BlockWriter::set_position(const Call& call, const char* name, std::uint32_t block,
                                 const NumberList& position) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  std::array<std::int64_t, kMaxDims> numbers{};
  if (!names_.find_with_list(call, name, block, position, &variable, &numbers, &status))
    return status;
  const Result<void> set =
      variables_.set_position(variable, variables_.block(variable, block), numbers.data());
  return set ? Status::OK : failures_.complain(call, set.error(), name);
}

Status BlockWriter::write_array(const Call& call, const char* name, std::uint32_t block,
                                const leat_array* array) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!names_.find_to_write(call, name, block, &variable, &status)) return status;
  if (!is_sound(array)) {
    return failures_.lose(call, variable,
                          {Status::ERROR_ARGUMENT,
                           "the leat_array is NULL, its struct_size is not sizeof(leat_array), or "
                           "its type or number of dimensions is none"});
  }
  const ArrayView view = view_of(*array);
  Error error;
  const CallersWords words{array->type_name, array->column_major != 0};
  BlockState& state = variables_.block(variable, block);
  const BlockShape* const known = variables_.adopt(variable, state, view, words, &error);
  if (!known) return failures_.lose(call, variable, error);
  return write_from(call, variable, block, state, *known, {view.data, &view});
}

Status BlockWriter::alloc_array(const Call& call, const char* name, std::uint32_t block,
                                leat_array* array) {
  if (!array || array->struct_size < sizeof(leat_array)) {
    return failures_.complain(
        call,
        {Status::ERROR_ARGUMENT,
         "the leat_array is NULL, or its struct_size is not sizeof(leat_array)"},
        "");
  }
  void* data = nullptr;
  array->data = nullptr;
  const Status status = alloc(call, name, block, &data, array->column_major != 0);
  if (status != Status::OK) return status;
  const shm::BlockHeader& header = static_cast<const shm::BlockHeader*>(data)[-1];
  describe(header, variables_.declared(header.variable).type(), data, array);
  return status;
}

Status BlockWriter::wanted(const Call& call, const char* name) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!names_.find_variable(call, name, &variable, &status)) return status;
  const std::int64_t iteration = channel_.iteration();
  const bool wanted = variables_.wanted(variable, variables_.block(variable, 0), iteration) &&
                      !channel_.is_dropped(iteration);
  return wanted ? Status::OK : Status::UNWANTED;
}

}  // namespace leat::client
