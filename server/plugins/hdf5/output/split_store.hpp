// SPDX-License-Identifier: Apache-2.0
// split="...": one file after the other, and a view of all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/model/splitting.hpp"
#include "server/plugins/hdf5/disk/file_lock.hpp"
#include "server/plugins/hdf5/output/pieces.hpp"
#include "server/plugins/hdf5/output/store.hpp"
#include "server/plugins/hdf5/output/view_keeper.hpp"

namespace leat::hdf5 {

// A server writes one piece at a time, a file like that of a run without split: it is closed before the next one is begun, and not opened
// for writing any more. Which one a row goes into follows from its number or time (Splitting), so that a server that goes on after a dead
// one needs nothing but the files. A time that goes back stays in the last one. What does not vary in time is carried from each
// piece to the next, in its first row, so that each can be read alone.
//
// Pieces are parts (conventions/nodes.hpp), and the view is that of parts.

class SplitStore {
 public:
  SplitStore(const leat_run& run, Host host);
  SplitStore(const SplitStore&) = delete;
  void iteration(const leat_iteration_data& data);
  void results(const leat_result_set& set);
  void close();

 private:
  std::string folder_for_new() const;
  bool take_earlier();
  void take_folder(const std::string& folder);
  void find_own();
  void begin_to_append(std::int64_t iteration, const leat_iteration_data* data);
  void go_back_to(std::int64_t first);
  std::optional<model::SplitPeriod> period_of(const leat_iteration_data& data);
  void begin(const model::SplitPeriod& period);
  std::string free_path(const std::string& name) const;
  void open(const std::string& path, double begin, bool is_earlier);
  void carry_constants();
  void leave_out_what_is_there();
  void finish();
  void finish_others();
  void expect_store();
  void warn_of_no_time(std::int64_t iteration);

  const leat_run& run_;
  Host host_;
  model::Splitting splitting_;
  std::string split_text_, folder_, server_path_;
  // Keeps other runs from writing pieces of this server. What is said in it says to who takes over that there was one.
  std::optional<FileLock> name_lock_;
  bool was_begun_ = false;
  std::vector<Piece> found_;
  std::unique_ptr<Store> store_;
  double now_;             // begin of the last piece
  std::string last_path_;  // of the last piece that is not being written
  std::string with_rows_;  // of the last one that servers before this one have written rows into
  double last_time_;
  std::unique_ptr<StoredIteration> carried_;
  std::vector<std::string> unfinished_;
  std::set<std::int64_t> stored_before_;
  std::set<std::pair<std::string, std::int64_t>> products_before_;
  std::string lost_before_;
  bool awaits_first_ = false;  // of a run that appends
  bool has_warned_ = false;
  std::optional<std::int64_t> first_;
  std::optional<ViewKeeper> view_;
};

}  // namespace leat::hdf5
