// SPDX-License-Identifier: Apache-2.0
// Values of parameters at each iteration, as the node's first rank had them when it ended it: ranks
// may be ahead of what is being analysed.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/session/iteration.hpp"

namespace leat::server {

class ParameterLog {
 public:
  explicit ParameterLog(const model::Model& model);

  void set(std::uint32_t parameter, ParameterValue value);
  /// The parameter is steered to `value`, as text, from this iteration on; no rank is there yet.
  void steer(std::int64_t iteration, const std::string& parameter, const std::string& value);
  /// And all before it. Nothing when it was told of this one, or a later one, before.
  void iteration_ended(std::int64_t iteration);
  std::int64_t last_ended() const noexcept { return last_ended_; }
  bool differs(std::uint32_t parameter, const ParameterValue& value) const {
    return parameter < now_.size() && now_[parameter] != value;
  }
  /// All that it knows, for a server that takes over, and the way back: entries of the session's
  /// journal. Those of note_* are taken too.
  std::vector<nlohmann::json> entries() const;
  void take_entry(const nlohmann::json& entry);
  static nlohmann::json set_entry(std::uint32_t parameter, const ParameterValue& value);
  static nlohmann::json ended_entry(std::int64_t iteration);
  static nlohmann::json steered_entry(std::int64_t iteration, const std::string& parameter,
                                      const std::string& value);

  /// Of this iteration. The latest when the rank has not come so far.
  std::vector<ParameterValue> at(std::int64_t iteration) const;
  /// Nobody asks for this iteration any more, nor for those before it.
  void forget(std::int64_t iteration);

 private:
  void add_steered(std::int64_t iteration, std::uint32_t parameter, ParameterValue value);

  struct Steered {
    std::uint32_t parameter;
    ParameterValue value;
  };

  const model::Model& model_;
  std::int64_t last_ended_ = -1;
  std::multimap<std::int64_t, Steered> steered_;  // by the iteration that it begins in
  std::vector<ParameterValue> now_;
  std::map<std::int64_t, std::vector<ParameterValue>> ended_;
};

}  // namespace leat::server
