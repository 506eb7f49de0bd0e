// SPDX-License-Identifier: Apache-2.0
// One plugin at work for one <store>: what the host passes to it, and what it says back.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/product_flow.hpp"
#include "server/pipeline/plugin_host.hpp"
#include "server/pipeline/plugin_view.hpp"
#include "server/pipeline/store_events.hpp"
#include "server/pipeline/work_team.hpp"
#include "server/products/publication.hpp"

namespace leat::server {

/// What a plugin has done with iterations so far; for other threads too, each number by itself.
struct PluginWork {
  std::atomic<std::uint64_t> calls{0}, ns{0};
  std::atomic<std::uint64_t> bytes{0};  ///< that it has taken
  std::atomic<std::uint64_t> products_taken{0}, products_published{0};
};

/// Calls come from one thread, always the same. Errors are messages; an empty one is success.
class PluginInstance {
 public:
  /// `first_state`: what open() finds in *state.
  PluginInstance(const leat_plugin* plugin, const model::Model& model, std::uint32_t store,
                 const PluginView& view, std::shared_ptr<Log> log, void* first_state = nullptr);
  PluginInstance(const PluginInstance&) = delete;

  /// Before open(): the lowest rank of this node.
  void set_first_rank(std::int32_t rank) noexcept { run_.first_rank = rank; }
  /// Before open(): who helps with iterations that are done in pieces.
  void set_team(WorkTeam* team) noexcept { team_ = team; }
  std::string open();
  /// True when this plugin takes something of the iteration.
  bool wants(const Iteration& iteration) const;
  /// True when it takes the variable in this iteration.
  bool wants(const Iteration& iteration, std::uint32_t variable) const {
    return is_due(iteration) && takes(variable);
  }
  /// `waiting`: iterations behind it.
  std::string process(const Iteration& iteration, std::size_t waiting);
  /// What it has published in the last call, if that has succeeded.
  std::optional<Publication> take_published();
  /// What it takes of what another has published: pointers into `publication`.
  std::vector<const Product*> wanted_of(const Publication& publication) const;
  std::string process(const Publication& publication, const std::vector<const Product*>& wanted);
  std::string close();

  PluginHost& host() noexcept { return host_; }
  const std::string& store() const noexcept { return name_; }
  const PluginWork& work() const noexcept { return work_; }
  /// What it takes of products, and what it makes of them, as the XML says.
  const model::ProductMaker& maker() const noexcept { return maker_; }
  /// Iterations are left out while it is busy.
  bool may_skip() const noexcept { return may_skip_; }
  /// The same for all stores whose plugin is one and the same library.
  const void* library() const noexcept { return reinterpret_cast<const void*>(plugin_->iteration); }

 private:
  bool is_due(const Iteration& iteration) const;
  bool has_blocks_of(const Iteration& iteration) const;
  std::string take_blocks(const Iteration& iteration, std::size_t waiting);
  std::string tell(const Iteration& iteration);
  bool takes(std::uint32_t variable) const { return takes_[variable] != 0; }
  std::string outcome(int code, const char* function) const;
  std::string in_pieces(const leat_iteration_data& data);
  std::string timed(const std::function<std::string()>& call);

  const leat_plugin* plugin_;
  std::string name_;
  model::ProductMaker maker_;
  std::int64_t every_;
  bool may_skip_;
  StoreEvents events_;
  const PluginView& view_;
  std::vector<std::uint8_t> takes_;
  leat_run run_;
  PluginHost host_;
  WorkTeam* team_ = nullptr;
  void* state_ = nullptr;
  std::optional<std::string> why_not_open_ = "";  // nothing: it is open
  PluginWork work_;
};

}  // namespace leat::server
