// SPDX-License-Identifier: Apache-2.0
// Keeps the view of a run on several nodes up to date.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "server/include/plugin.hpp"

namespace leat::hdf5 {

// How often views are remade during a run.

/// What is remade during a run, because others may be looking at it, is at most so old.
inline constexpr std::chrono::seconds kShortestInterval{1};

/// Or so many times as old as it takes to make it: of a server's time not more than 2 % goes into
/// it, however many parts or iterations there are.
inline std::chrono::steady_clock::duration refresh_interval(
    std::chrono::steady_clock::duration taken) {
  constexpr int kShareOfTime = 50;
  return std::max<std::chrono::steady_clock::duration>(kShortestInterval, kShareOfTime * taken);
}

// Keeps the view of a run on several nodes up to date, as one of the servers that do so. They do
// not talk to each other: each makes it anew, from the parts that it finds, after its first
// iteration, from time to time, and when it ends. Nothing here fails a run: a view can be made
// again at any time, `leat view` does it.

class ViewKeeper {
 public:
  /// `view`: of the parts in `folder`. `started`: by the clock of the file system.
  ViewKeeper(const leat_run& run, const Host& host, const std::string& folder,
             const std::string& view, std::filesystem::file_time_type started);
  /// An iteration is in the part.
  void after_commit();
  /// The part is closed.
  void at_close();
  /// What the parts have and the view has not; "" for none.
  std::string not_shown() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool is_own(const std::string& path) const;
  bool is_fresh() const;
  std::string why_of_another_run(bool is_locked) const;
  void make(bool last);
  void make_as(const std::string& path, bool last);
  void report(const std::string& path, const std::vector<std::string>& lines, bool last);
  void make_first(bool last);

  const leat_run& run_;
  Host host_;
  std::string folder_, wanted_, maker_;
  bool is_last_try_ = false;
  std::set<std::string> not_shown_;
  std::string path_;  // what it is called; "" until it is made for the first time
  std::filesystem::file_time_type started_;
  Clock::time_point looked_{}, give_up_till_{};
  Clock::duration every_;
};

}  // namespace leat::hdf5
