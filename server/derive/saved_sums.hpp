// SPDX-License-Identifier: Apache-2.0
// What periods have come to, in files beside the output: a run that goes on with it makes of a period what one run would have made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "lib/model/model.hpp"
#include "server/derive/sums.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class SavedSums {
 public:
  struct Files {
    std::string sums{};  ///< in shared memory; "" for one that ends with this process
    std::string
        saved{};  ///< how names begin of what a run leaves for one that goes on; "": none does
    bool is_resumed = false;     ///< a server before this one has begun
    bool has_some_done = false;  ///< and has done some iteration
    bool has_all_ranks = true;   ///< else other servers of the run leave something beside it
    bool has_earlier = false;    ///< there is output of a run before, which this one goes on with
    /// Iterations of which a store has checkpoints on the disk.
    std::function<std::set<std::int64_t>(const model::Store& store)> checkpoints{};
  };
  SavedSums(const model::Model& model, Files files, std::shared_ptr<Log> log)
      : model_(model), files_(std::move(files)), log_(std::move(log)) {}

  /// Those in shared memory, of a run with this model: of another one they begin anew.
  static Result<std::unique_ptr<Sums>> open(const model::Model& model, const std::string& file);

  /// Before the first iteration: the lowest rank of this server.
  void serves(std::int32_t first_rank);
  /// Before each iteration; with the first one that anybody sums up, takes what the run before has kept.
  void go_on_from(std::int64_t iteration, std::unique_ptr<Sums>* sums);
  void save_with_checkpoint(const Iteration& iteration, const Sums& sums);
  void save_at_end(const Sums& sums) const;

  struct Lacks {
    std::int64_t iteration;  ///< the first one of the run
    std::string why;         ///< it has not what the run before had come to
  };
  const std::optional<Lacks>& lacks() const noexcept { return lacks_; }

 private:
  std::string take(const std::string& file, std::int64_t wanted, std::unique_ptr<Sums>* sums);
  std::string saved_at(std::int64_t iteration) const;
  void save(const std::string& file, const Sums& sums) const;
  void remove_old(std::int64_t iteration, const model::Store& store) const;

  const model::Model& model_;
  Files files_;
  std::shared_ptr<Log> log_;
  bool has_begun_ = false;
  std::optional<Lacks> lacks_;
};

}  // namespace leat::server
