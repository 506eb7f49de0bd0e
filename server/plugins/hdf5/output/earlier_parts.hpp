// SPDX-License-Identifier: Apache-2.0
// The parts of an earlier run in which one with several servers goes on (append="true"): where they are, whether they are of as many
// servers with the same ranks, and whether all servers have found so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "server/include/plugin.hpp"

namespace leat::hdf5 {

/// Folder of the parts that the view shows, or, where there is no view, of the newest ones that no view shows; "" where there is
/// none. Throws where something else has the name of the view.
std::string folder_to_append(const leat_run& run, const std::string& view);

/// The parts in `folder`, which has none of this server, are what other servers of the run have just begun.
bool is_just_begun(const leat_run& run, const std::string& folder);

/// "cannot append to run.h5, nothing of which is changed: ..."
std::string refusal_of_parts(const std::string& view, const std::string& why);

/// Iterations before `first` that other parts have, and that of this server has not; "" for none.
std::string missing_before(const leat_run& run, const std::string& folder, std::int64_t first);

// Nothing of an earlier output is changed before all servers have found that they can go on in theirs. They know of each other by
// files beside the parts, .rank000004.append-<session>: nothing so far, "yes", or why not. A server that has begun needs none: its
// part says who writes it.
class AppendAgreement {
 public:
  AppendAgreement(const leat_run& run, const std::string& folder);
  /// This server looks whether it can go on.
  void look() const { write(""); }
  /// What it has found; "" : it can.
  void say(const std::string& why_not) const;
  /// Throws unless all have said that they can. Waits for those who have said nothing, but only the first time.
  void expect();
  void remove() const;
  /// All have said that they can, and no run has come since.
  bool is_standing() const;

 private:
  void write(const std::string& text) const;
  void forget_others() const;
  std::string file_of(const std::string& part) const;
  std::string why_not_yet(bool* is_refused) const;
  bool has_begun(const std::string& part) const;

  const leat_run& run_;
  std::string folder_;
  std::map<std::string, std::int64_t>
      before_;  // by name of a part: the number of the run that had written it
  bool has_waited_ = false;
};

/// False where all of the run was killed before its servers had agreed, or another run has gone on there since: who stores what was in memory
/// leaves those parts alone.
bool may_take_earlier(const leat_run& run, const std::string& folder);

/// Calls take() where the run can go on in the parts in `folder`, which `view` shows. The others hear whether it could: what it throws goes
/// on.
void take_if_all_can(const leat_run& run, const std::string& folder, const std::string& view,
                     const std::function<void()>& take);

}  // namespace leat::hdf5
