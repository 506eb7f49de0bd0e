// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/checkpoint_calls.hpp"

#include <algorithm>

#include "client-api/api/leat_build.h"
#include "client-api/session/checkpoint_fill.hpp"
#include "lib/base/text.hpp"

namespace leat::client {
namespace {

constexpr shm::RestartRecord kNone{{}, {}, {}, {}, -1, 0};

shm::RestartRecord record_of(const shm::Catalogue& catalogue) {
  return catalogue.restart().empty() ? kNone : catalogue.restart().front();
}

// As dense as a block is.
ArrayView dense(const BlockShape& shape, ScalarType type, void* data) {
  ArrayView view;
  view.data = data;
  view.type = type;
  view.dims = shape.dims;
  view.extent = shape.extent;
  auto stride = static_cast<std::int64_t>(scalar_bytes(type));
  for (std::uint32_t d = shape.dims; d-- > 0;) {
    view.stride[d] = stride;
    stride *= shape.extent[d];
  }
  return view;
}

// While files are read other threads may call.
class Unlocked {
 public:
  explicit Unlocked(const Call& call) : lock_(call.lock) { lock_.unlock(); }
  Unlocked(const Unlocked&) = delete;
  ~Unlocked() { lock_.lock(); }

 private:
  Lock& lock_;
};

}  // namespace

CheckpointCalls::CheckpointCalls(const shm::Segment& segment, const Ranks& ranks,
                                 VariableTable& variables, Failures& failures)
    : catalogue_(segment),
      record_(record_of(catalogue_)),
      ranks_(ranks),
      variables_(variables),
      failures_(failures),
      names_(variables, failures) {}

Error CheckpointCalls::none() const {
  if (!has_store())
    return {
        Status::ERROR_STATE,
        variables_.config() +
            " makes no checkpoints: <group name=\"checkpoint\" keep=\"2\"> around variables does"};
  return {Status::ERROR_STATE,
          "there is nothing to read: " + std::string(catalogue_.text(record_.why_none)) +
              "; leat_restart_step gives 0 then, and the run begins anew"};
}

Result<CheckpointCalls::Source> CheckpointCalls::source_of(std::string_view variable) {
  const std::lock_guard lock(mutex_);
  if (source_ && read_last_ == variable) return source_;
  std::vector<std::string> folders{std::string(catalogue_.text(record_.folder))};
  if (record_.copy.bytes > 0) folders.emplace_back(catalogue_.text(record_.copy));
  Result<CheckpointSource> found =
      CheckpointSource::open({record_.generation, record_.iteration}, folders, variable);
  if (!found) return found.error();
  read_last_ = variable;
  source_ = std::make_shared<const CheckpointSource>(std::move(*found));
  return source_;
}

Status CheckpointCalls::restore(const Call& call, ParameterCalls& parameters) {
  if (record_.iteration < 0) return Status::OK;
  const Result<Source> source = [&] {
    const Unlocked unlocked(call);
    return source_of("");
  }();
  if (!source) return failures_.complain(call, source.error(), "");
  for (const checkpoint::Parameter& each : (*source)->parts.front().index.parameters) {
    const Status status = parameters.restore(call, each.name, each.value);
    if (status != Status::OK) return status;
  }
  return Status::OK;
}

Status CheckpointCalls::read(const Call& call, const char* name, std::uint32_t block, void* data,
                             std::int32_t type) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!names_.find(call, name, block, &variable, &status)) return status;
  if (!variables_.takes(variable, type)) {
    const auto given = static_cast<ScalarType>(type);
    return failures_.complain(call, variables_.declared(variable).differs(given), name);
  }
  Error error;
  BlockState& state = variables_.block(variable, block);
  const BlockShape* const shape = variables_.shape(variable, state, &error);
  if (!shape) return failures_.complain(call, error, name);
  return fill(call, variable, block, *shape,
              dense(*shape, variables_.declared(variable).type(), data));
}

Status CheckpointCalls::read_array(const Call& call, const char* name, std::uint32_t block,
                                   const leat_array* array) {
  std::uint32_t variable = 0;
  Status status = Status::OK;
  if (!names_.find(call, name, block, &variable, &status)) return status;
  if (!is_sound(array))
    return failures_.complain(call,
                              {Status::ERROR_ARGUMENT,
                               "the leat_array is NULL, its struct_size is not sizeof(leat_array), "
                               "or its type or number of dimensions is none"},
                              name);
  const ArrayView view = view_of(*array);
  Error error;
  const CallersWords words{array->type_name, array->column_major != 0};
  BlockState& state = variables_.block(variable, block);
  const BlockShape* const shape = variables_.adopt(variable, state, view, words, &error);
  if (!shape) return failures_.complain(call, error, name);
  return fill(call, variable, block, *shape, view, words.column_major);
}

Status CheckpointCalls::fill(const Call& call, std::uint32_t variable, std::uint32_t block,
                             const BlockShape& shape, ArrayView array, bool column_major) {
  const std::string name(variables_.name(variable));
  if (record_.iteration < 0) return failures_.complain(call, none(), name);
  if (!array.data && shape.bytes > 0)
    return failures_.complain(
        call, {Status::ERROR_ARGUMENT, "the data of \"" + name + "\" are NULL"}, name);
  FilledBlock filled;
  filled.array = array;
  filled.column_major = column_major;
  filled.place = shape.place;
  filled.rank = ranks_.rank;
  filled.ranks = ranks_.size;
  filled.block = block;
  filled.position = shape.position;
  variables_.global_of(variable, &filled.global);
  const DeclaredVariable declared = variables_.declared(variable);
  for (std::uint32_t d = 0; d < shape.dims; ++d) {
    filled.ghosts_before[d] = declared.ghosts_before(d);
    filled.ghosts_behind[d] = declared.ghosts_behind(d);
  }
  const Result<void> done = [&]() -> Result<void> {
    const Unlocked unlocked(call);
    const Result<Source> source = source_of(name);
    if (!source) return source.error();
    if (!(*source)->find(name))
      return Error{Status::ERROR_UNKNOWN_NAME, "the " + checkpoint::title_of((*source)->key) +
                                                   " has no \"" + name + "\"" +
                                                   did_you_mean(name, (*source)->variables())};
    return fill_from(**source, name, filled);
  }();
  return done ? Status::OK : failures_.complain(call, done.error(), name);
}

}  // namespace leat::client
