// SPDX-License-Identifier: Apache-2.0
// Passes iterations that are complete to the stores and to scripts, and takes back what becomes of
// them. Private to the engine's thread, which waits for none of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/node/output_folders.hpp"
#include "server/engine/drains.hpp"
#include "server/engine/host.hpp"
#include "server/engine/mesh_watch.hpp"
#include "server/engine/session_state.hpp"
#include "server/pipeline/pipeline.hpp"
#include "server/state/memory/leased_regions.hpp"
#include "server/state/spill/spiller.hpp"
#include "server/workers/script_pool.hpp"

namespace leat::server {

struct DispatcherParts {
  std::vector<std::unique_ptr<PluginInstance>> plugins;
  const node::SpillFolder* spill_folder = nullptr;  ///< null: none
  std::shared_ptr<Drains> drains;       ///< the stores wait for those; null: there are none
  PieceRunner* lent_threads = nullptr;  ///< of the simulation; null: none
  bool check_overlaps = false;
  std::function<void()> wake;                ///< called, from any thread, when has_news()
  std::unique_ptr<Derivation> derivation{};  ///< null: nothing is to be derived
};

class Dispatcher {
 public:
  Dispatcher(SessionState& session, DispatcherParts parts);
  ~Dispatcher();

  /// Starts what works beside the engine; the stores only when all ranks are known.
  void start();
  /// What stores write on one of several nodes is called after the lowest rank: all that ever come
  /// are known.
  void start_stores();

  /// What a rank has published, in the memory of a block. `waits`: for the stores to be given its iteration, which this rank is in or
  /// has ended.
  void publish(Publication publication, const Block& block, bool waits);

  /// What ranks have published in an iteration that is dropped, and that waits for its end, goes with it.
  void drop_published(std::int64_t iteration);

  /// Takes the oldest iteration out that no store has begun: none gets it, and nothing is made of
  /// it.
  std::optional<Iteration> take_oldest(const WaitingLine::Which& which);

  /// Something has come back.
  bool has_news() const noexcept { return pipeline_.has_results() || pins_.any_returned(); }
  void pass_on_complete();
  void take_results();
  /// Blocks that nobody reads any more.
  void take_returned_blocks();

  /// Blocks are being read.
  bool anything_held() const noexcept { return under_way_.anything_held(); }
  /// The same, but for what ranks have published and that waits for them to end its iteration.
  bool anything_read() const noexcept { return under_way_.held() > published_.size(); }
  /// The least iteration that holds blocks; INT64_MAX for none.
  std::int64_t oldest_unfinished() const noexcept {
    const std::int64_t open = session_.iterations.oldest();
    return anything_held() ? std::min(under_way_.oldest_held(), open) : open;
  }
  /// The same, or the stores have something to do.
  bool is_at_work() const noexcept { return anything_held() || pipeline_.is_busy(); }
  /// Of iterations that all ranks have ended, nothing is open, under way or at work.
  bool is_idle() const;
  const UnderWay& under_way() const noexcept { return under_way_; }
  /// A store or a script of this server may yet contribute to this channel of reductions in one of these iterations.
  bool may_reduce(std::uint64_t channel, std::int64_t first, std::int64_t last) const;
  /// None of them asks again for reductions of iterations up to this one.
  std::int64_t last_reduced() const noexcept;
  /// Nothing comes any more: the stores close after what they have.
  void close();
  bool is_closed() const noexcept { return state_ == State::closed; }
  /// "", or why what was drained stays where it is: the stores could not be opened.
  const std::string& why_given_up() const noexcept { return given_up_; }

  /// What scripts and stores want to be steered.
  std::vector<SteeringRequest> take_steering();

  Drains& drains() noexcept { return *drains_; }
  Pipeline& pipeline() noexcept { return pipeline_; }
  Spiller& spiller() noexcept { return spiller_; }
  ScriptPool& scripts() noexcept { return scripts_; }

 private:
  void give_to_scripts(const Iteration& iteration);
  enum class State { opening, open, closed };

  bool may_store() const noexcept { return !run_.facts.drained || state_ == State::open; }
  void pass_on_products();
  std::optional<OverRun::Outcome> reduce_derived(const comm::Round& round,
                                                 std::function<comm::Columns(comm::Rank)> columns);
  void reduce(std::uint32_t store, const std::shared_ptr<const PluginReduction>& reduction);
  bool hold_spilled(Iteration* iteration) const;
  void take(PipelineResult& result);
  void stores_opened(const PipelineResult& result);
  void report_reductions() const;
  void leave_reductions(const PipelineResult& opened);
  void record_done(const PipelineResult& result) noexcept;
  void record_late(const PipelineResult& result) noexcept;

  SessionState& session_;
  const Run& run_;
  std::shared_ptr<Drains> drains_;
  std::atomic<bool> is_abandoned_{false};
  Pipeline pipeline_;
  Spiller spiller_;
  BlockPins pins_;
  std::vector<Publication> published_;  // by ranks, and waiting
  UnderWay under_way_;
  ScriptPool scripts_;
  MeshWatch meshes_{run_};
  State state_ = State::opening;
  std::string given_up_;
};

// Tells ranks at the end of an iteration up to where what they wait for has it; and with mode="auto"
// whether they wait. Private to the engine's thread.

class Settling {
 public:
  /// A server that takes over makes the choice anew: ranks wait until then.
  Settling(SessionState& session, Dispatcher& dispatcher);

  void step();

 private:
  bool waits_for_all() const noexcept;
  std::int64_t last_settled() const;
  void publish_settled();
  void choose();
  ModeChoice::Progress progress(std::int64_t finished) const;
  void log_mode();

  SessionState& session_;
  Dispatcher& dispatcher_;
  const bool is_automatic_;
  std::int64_t finished_ = -1;
  int logged_changes_ = -1;
};

}  // namespace leat::server
