// SPDX-License-Identifier: Apache-2.0
// The folder that scripts write to.
#pragma once

#include <string>

#include "lib/model/model.hpp"
#include "server/session/log.hpp"
#include "server/session/own_name.hpp"
#include "server/session/run.hpp"

namespace leat::server {

class ScriptOutput {
 public:
  /// Below `folder`, unless the XML says where.
  ScriptOutput(const model::Model& model, const RunFacts& facts, const std::string& folder);

  /// Before anything is written to it: no other run writes to it from here on, and nothing of an
  /// earlier run stands in it.
  void take(Log& log);
  /// Absolute.
  const std::string& path() const noexcept { return path_; }

  // From any thread
  /// Removes what workers were writing when they died.
  void remove_dead_parts() const;
  /// To a file in it; a new one begins with `head`. "", or why it cannot be done.
  std::string append(const std::string& name, const std::string& text,
                     const std::string& head = "") const;

 private:
  std::string path_, session_;
  bool resumed_, is_named_;  // named: by the user, so that what is in it may be anybody's
  OwnName own_;
};

}  // namespace leat::server
