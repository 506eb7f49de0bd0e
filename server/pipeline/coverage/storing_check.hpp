// SPDX-License-Identifier: Apache-2.0
// What stores lose of values that they put down as something else (lib/base/stored_as.hpp). A store makes that of each block by itself; the
// ledger is to know of it, whatever becomes of the store.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/stored_as.hpp"
#include "lib/model/model.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

class StoringCheck {
 public:
  /// `changed`: variables that a store does not put down as they are.
  StoringCheck(const model::Model& model, const std::set<std::uint32_t>& changed);
  /// One finding for each variable with values that are not stored. Reads what is changed once, and nothing else.
  std::vector<Finding> check(const Iteration& iteration) const;

 private:
  StoringLoss loss_of(const StoredAs& as, const Block& block) const;
  Finding finding(std::uint32_t variable, const StoringLoss& loss, std::int64_t iteration) const;

  const model::Model& model_;
  std::map<std::uint32_t, StoredAs> changed_;
};

}  // namespace leat::server
