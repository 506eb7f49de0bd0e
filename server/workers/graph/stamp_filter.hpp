// SPDX-License-Identifier: Apache-2.0
// Which iterations go through a connection. Decided before anything is kept for it: what is left out costs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/model/model.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/workers/python/module_plan.hpp"

namespace leat::server {

class StampFilter {
 public:
  /// Throws std::invalid_argument for a condition that cannot be read. Names in it that the model does not have are
  /// stamps of messages, where these come from modules.
  StampFilter(const ModuleInput& input, const model::Model& model);
  ~StampFilter();
  StampFilter(StampFilter&&) noexcept;

  /// As far as it can be said without a message.
  bool lets_through(const Iteration& iteration, std::int64_t now_ns) const;
  /// A message of a source of the connection.
  bool lets_through(const Publication& publication, const Product& product) const;
  /// One has gone through.
  void passed(std::int64_t now_ns) noexcept { passed_ns_ = now_ns; }

 private:
  class Condition;

  PortFilter filter_;
  std::unique_ptr<Condition> condition_;
  std::optional<std::int64_t> passed_ns_;
};

}  // namespace leat::server
