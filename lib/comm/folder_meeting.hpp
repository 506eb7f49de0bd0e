// SPDX-License-Identifier: Apache-2.0
// How the servers of a run meet in a folder, where nothing else has brought them together.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/comm/meeting.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::comm {

// Each server writes a card into the folder, "<its lowest rank>-<its ranks>-<its number>.card". The one that has rank 0 looks for cards
// that name its own number, and when these have all ranks of the run between them, writes the offers of all, with its
// credential, into "<its number>.offers". The others name in their cards the numbers of all that say they have rank 0, and
// take the file of one of them that names theirs. Numbers are random, so what a run that was killed has left in
// the folder names no server of this one, and is not taken for one.
//
// No thread, and no descriptor is kept: each poll() looks and writes once, and takes as long as a disk does.
class FolderMeeting {
 public:
  struct Settings {
    std::string folder;  ///< of this run alone
    Offer own;
    std::int32_t first_rank = 0;  ///< of the run, of those that this server has
    std::int32_t ranks = 1;       ///< of this server
    std::int32_t all_ranks = 1;   ///< of the run
  };

  explicit FolderMeeting(Settings settings) : settings_(std::move(settings)) {}

  void poll();
  /// For meeting_of(); "" until all servers have met.
  const std::string& offers() const noexcept { return offers_; }
  /// For people; "" when they have met.
  const std::string& why_waiting() const noexcept { return why_waiting_; }
  /// Takes away what this server, or one before it with its number, has written.
  void leave();
  /// The folder that the folder is in.
  std::string parent() const;

 private:
  struct Name {  // of a card
    std::int32_t first_rank = 0, ranks = 0;
    std::uint64_t number = 0;
    auto operator<=>(const Name&) const = default;
  };

  std::set<Name> look(int folder) const;
  bool write_own(int folder, const std::set<Name>& all);
  void await_all(int folder, const std::set<Name>& all);
  void await_first(int folder, const std::set<Name>& all);
  bool names_this(int folder, const Name& name, Offer* offer) const;
  void write_offers(int folder, const std::map<std::int32_t, Offer>& met);
  void wait_for(std::int64_t ranks);
  static std::string name_of(const Name& name);
  Name own_name() const { return {settings_.first_rank, settings_.ranks, settings_.own.number}; }

  Settings settings_;
  std::string offers_, why_waiting_;
  std::string written_;  // the own card, as it was written last
};

/// "out/heat.group/job-7"; what runs of this simulation have left beside it for more than a day is removed.
std::string folder_of_meeting(const std::string& folder, const std::string& simulation,
                              const std::string& session);
void remove_old_meetings(const std::string& folder);

}  // namespace leat::comm
