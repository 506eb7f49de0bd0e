// SPDX-License-Identifier: Apache-2.0
// Files that the servers of a run write together, in turn: files="4".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "server/plugins/hdf5/disk/file_lock.hpp"
#include "server/plugins/hdf5/output/store.hpp"
#include "server/plugins/hdf5/output/view_keeper.hpp"

namespace leat::hdf5 {

// A server has a part in each file that it has written into: a group of a shared one, or a file of its own. The server tells into which
// it writes now (Host::shared_file). That is a turn, and no lock: who was stopped for so long that others have gone on does not know
// of it. So each file is locked by who writes it, and what is locked is left alone: who has its turn and finds the file locked, or has no turn,
// writes into the file of its own, and says so. Nobody ever writes into a file that another one may be writing. What this server cannot
// continue, since its limit on file sizes is smaller or what it wrote there is damaged, is left to the others in the same way.
//
// Views and `leat merge` take all parts of a server together.

class SharedStore {
 public:
  SharedStore(const leat_run& run, Host host, int files);
  SharedStore(const SharedStore&) = delete;
  void iteration(const leat_iteration_data& data);
  void results(const leat_result_set& set);
  void close();

 private:
  static constexpr int kOwn = -1;
  std::string path_of(int file) const;
  std::unique_ptr<Store>& place_of(int file) { return stores_[file]; }
  std::string begin_turn(int file);
  void open_own();
  std::optional<bool> has_own_part(const std::string& path) const;
  void note_stored(int file);
  void find_stored();
  void look_again();
  int write(const std::function<void(Store&)>& call);
  void close_other(int file);

  const leat_run& run_;
  Host host_;
  int files_;
  std::string view_path_, folder_;
  std::optional<FileLock> name_lock_;  // of the own name, as long as there is no file of it
  std::string lost_before_;
  std::map<int, std::unique_ptr<Store>> stores_;  // by file; kOwn
  std::set<std::int64_t> stored_before_;
  std::set<int>
      not_seen_;        // files that others were writing when this server looked for what is stored
  std::set<int> told_;  // files of which it was said why this server does not write there
  std::optional<ViewKeeper> view_;
};

}  // namespace leat::hdf5
