// SPDX-License-Identifier: Apache-2.0
// What ranks have signalled and is not decided on, in order. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace leat::server {

struct SaidSignal {
  std::int64_t iteration = 0;
  std::uint32_t client = 0;
  std::uint32_t event = 0;
  std::uint32_t times = 1;
};

class SaidSignals {
 public:
  /// In a row, or when there are very many, they are counted.
  void keep(const SaidSignal& said);
  /// Those up to this iteration.
  std::vector<SaidSignal> take(std::int64_t iteration);
  bool any_until(std::int64_t iteration) const noexcept;
  const std::vector<SaidSignal>& all() const noexcept { return said_; }

  nlohmann::json in_words() const;
  void take_words(const nlohmann::json& words);

 private:
  std::vector<SaidSignal> said_;
};

}  // namespace leat::server
