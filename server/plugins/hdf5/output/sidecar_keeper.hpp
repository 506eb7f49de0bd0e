// SPDX-License-Identifier: Apache-2.0
// Keeps the sidecar of a run's file up to date: makes it anew after the first iteration, from time
// to time, and when the file is closed. Nothing here fails a run: a sidecar can be made again at
// any time, `leat xdmf` does it.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/output/view_keeper.hpp"
#include "server/plugins/hdf5/xdmf/sidecar.hpp"

namespace leat::hdf5::xdmf {

class SidecarKeeper {
 public:
  /// `maker`: as for make_sidecar().
  SidecarKeeper(const leat_run& run, const Host& host, std::string maker)
      : run_(run), host_(host), maker_(std::move(maker)) {}

  /// All rows of `file`, which is open and called `path`, are committed.
  void after_commit(hid_t file, const std::string& path) {
    const Clock::time_point begin = Clock::now();
    if (begin < next_) return;
    guarded(path, [&] { return make_sidecar(file, run_, path, maker_, progress_); });
    const Clock::time_point end = Clock::now();
    next_ = end + refresh_interval(end - begin);
  }
  /// The run has ended, and `path` is closed.
  void at_close(const std::string& path) {
    guarded(path, [&] {
      const Id file = open_plain(path, "cannot open " + path);
      Facts facts = make_sidecar(file, run_, path, maker_, progress_);
      if (facts.steps == 0)
        throw std::runtime_error("nothing that is on a mesh and can be shown was written");
      return facts;
    });
  }

 private:
  using Clock = std::chrono::steady_clock;

  void guarded(const std::string& path, const std::function<Facts()>& make) {
    try {
      for (const std::string& what : make().left_out) {
        if (told_.insert(what).second) host_.info(sidecar_of(path) + " is without the " + what);
      }
    } catch (const std::exception& e) {
      if (told_.insert(e.what()).second)
        host_.warn(sidecar_of(path) + " could not be made: " + e.what() + "; `leat xdmf " + path +
                   "` makes it");
    }
  }

  const leat_run& run_;
  Host host_;
  std::string maker_;
  std::function<void()> progress_ = [host = host_] { host.progress(1); };
  LeftOut told_;
  Clock::time_point next_{};
};

}  // namespace leat::hdf5::xdmf
