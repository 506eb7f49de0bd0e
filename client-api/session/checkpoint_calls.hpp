// SPDX-License-Identifier: Apache-2.0
// The calls that bring a checkpoint back. Called with the session's lock held, which is let go while files are read; what is
// returned is the status of the C call, which has complained when it is an error.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "client-api/connect/ranks.hpp"
#include "client-api/session/calls.hpp"
#include "client-api/session/checkpoint_source.hpp"
#include "client-api/session/failures.hpp"
#include "client-api/session/variable_table.hpp"
#include "lib/shm/catalogue.hpp"

struct leat_array;

namespace leat::client {

class CheckpointCalls {
 public:
  CheckpointCalls(const shm::Segment& segment, const Ranks& ranks, VariableTable& variables,
                  Failures& failures);

  /// The iteration that comes after the checkpoint; 0: there is none. As the server has decided, for all ranks.
  std::int64_t next_iteration() const noexcept { return record_.iteration + 1; }
  bool has_store() const noexcept { return record_.store.bytes > 0; }
  /// Gives the parameters that have no value the one that they had.
  Status restore(const Call& call, ParameterCalls& parameters);

  /// `type`: a leat_type, or 0 where it is not known.
  Status read(const Call& call, const char* name, std::uint32_t block, void* data,
              std::int32_t type = 0);
  Status read_array(const Call& call, const char* name, std::uint32_t block,
                    const leat_array* array);

 private:
  using Source = std::shared_ptr<const CheckpointSource>;

  Error none() const;
  Result<Source> source_of(std::string_view variable);
  Status fill(const Call& call, std::uint32_t variable, std::uint32_t block,
              const BlockShape& shape, ArrayView array, bool column_major = false);

  shm::Catalogue catalogue_;
  const shm::RestartRecord record_;
  const Ranks& ranks_;
  VariableTable& variables_;
  Failures& failures_;
  BlockNames names_;
  std::mutex mutex_;  // of the two below
  std::string read_last_;
  Source source_;  // with the blocks of that variable
};

}  // namespace leat::client
