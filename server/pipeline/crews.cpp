// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/crews.hpp"

#include <algorithm>

namespace leat::server {
namespace {

// The one who asks helps himself.
std::size_t helpers(std::size_t cores) { return std::max<std::size_t>(1, cores) - 1; }

}  // namespace

Crews::Crews(const ServerCores& cores)
    : dedicated_(helpers(cores.dedicated)),
      everywhere_(helpers(static_cast<std::size_t>(cores.all.count())), cores.all),
      lent_(cores.lent) {}

PieceRunner& Crews::of(model::Schedule schedule) {
  switch (schedule) {
    case model::Schedule::server:
    case model::Schedule::idle:
    case model::Schedule::harvest:
    case model::Schedule::coordinated:
    case model::Schedule::static_:
      return dedicated_;
    case model::Schedule::dynamic:
    case model::Schedule::dynamic_paper:
      return lent_ ? *lent_ : dedicated_;
    case model::Schedule::sync:
      is_everywhere_wanted_ = true;
      return everywhere_;
  }
  return dedicated_;
}

void Crews::start(Executor& executor) {
  dedicated_.start(executor);
  if (is_everywhere_wanted_) everywhere_.start(executor);
}

}  // namespace leat::server
