// SPDX-License-Identifier: Apache-2.0
// What a script may be called with: an iteration, and what has been made of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/state/iterations/iteration.hpp"
#include "server/workers/python/module_plan.hpp"

namespace leat::server {

/// What a script may be called with, without its memory.
struct Content {
  std::int64_t number = 0;               ///< of the iteration
  std::vector<std::uint32_t> variables;  ///< ascending
  std::vector<std::string> products{};   ///< "<source>/<product>"
  std::vector<std::uint32_t> events{};   ///< that happen in it
};

/// What somebody has published of an iteration, with data of our own.
struct Published {
  std::int64_t iteration = 0;
  bool by_stores = false;  ///< all that the stores have made of the iteration; maybe nothing
  std::vector<Publication> all{};
};

struct ScriptJob {
  std::shared_ptr<const Iteration> iteration;  ///< with the variables that the script wants
  std::vector<Publication> published{};        ///< of it
  // Of a module instead
  std::shared_ptr<const ModulePlan> module{};
  std::vector<std::vector<Publication>> inputs{};  ///< by port
  /// Came before it was known what the script wants: not left out for a newer one.
  bool early = false;

  Content content() const;
  /// Whether one of them can stand for the other, where a script sees but the newest.
  bool is_like(const ScriptJob& other) const;
};

Content content_of(const Iteration& iteration);
/// `content`, with these products.
Content content_of(const std::vector<Publication>& published, Content content);

}  // namespace leat::server
