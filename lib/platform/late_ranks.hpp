// SPDX-License-Identifier: Apache-2.0
// Which ranks had not come when a session ended on this node: they are told so when they come, and
// start no server of their own. A file in the runtime folder, there only when such ranks are; a
// sweep removes it after a day. Ranks of a later run of the same name began after that end, by the
// machine's clock (CLOCK_BOOTTIME), and are not meant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leat::platform {

class LateRanks {
 public:
  LateRanks() = default;
  /// What is noted at `path`; none when there is no such file.
  static LateRanks read(const std::string& path);

  /// Adds these, whose session ends now, and writes all at `path`.
  void note(const std::string& path, const std::vector<std::int32_t>& node_ranks);

  /// "" unless the session that this rank belongs to had ended before it came; `since_ns` is when
  /// it began, as began_ns() has it. Else what to tell it.
  std::string why_too_late(const std::string& session, std::int32_t node_rank,
                           std::int64_t since_ns) const;

 private:
  struct One {
    std::int32_t node_rank = 0;
    std::int64_t ended_ns = 0;
    std::int64_t ended_time = 0;  // seconds since 1970
  };
  std::vector<One> ranks_;
};

/// When this process was started, on the clock of LateRanks, or a hundredth of a second later.
std::int64_t began_ns();
/// Now, on that clock.
std::int64_t boot_time_ns() noexcept;

}  // namespace leat::platform
