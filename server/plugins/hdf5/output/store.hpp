// SPDX-License-Identifier: Apache-2.0
// One HDF5 file for one run on one node; on one of several nodes its part, and the view of all
// (nodes.hpp).
//
// Can be opened at any moment, by any reader. /iteration gets the number of an iteration after all
// else of it is in the file, so each of its rows stands for data that are there; CommittedFile sees
// to it that a reader, or the kill of the writer, meets no half-written structure. In a resumed run
// (leat_run.resumed) the file of the dead writer is continued as if it had not died: nothing but
// the file says how to go on, and what has a row is not stored again. docs/design/hdf5-file.md says
// why the file is as it is, and how that comes about.
//
// While the file has lost its name (output_file.hpp), and cannot get one again, no iteration is
// taken; a file that has none at the end is a store that has failed.
//
// A file that cannot be continued gets another name, and the run goes on in a new one.
//
// With append="true" it goes on in the file of an earlier run (store_append.cpp): with the first iteration, since only that
// says what of the file is kept.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "server/plugins/hdf5/arrays/mesh_shapes.hpp"
#include "server/plugins/hdf5/disk/committed_file.hpp"
#include "server/plugins/hdf5/output/earlier_parts.hpp"
#include "server/plugins/hdf5/output/h5_file.hpp"
#include "server/plugins/hdf5/output/output_file.hpp"
#include "server/plugins/hdf5/output/stored_rows.hpp"
#include "server/plugins/hdf5/output/view_keeper.hpp"

namespace leat::hdf5 {

// With files="..." a server may write into several files, of which others write some too (shared_store.hpp): its part is a group
// there, and it writes between begin_turn() and end_turn().

class Store {
 public:
  Store(const leat_run& run, Host host);
  /// One of the files of a server that has several, which keeps the view. `output`: of one that others write too it is
  /// locked, and the turn has begun. `lost_before`: what servers before this one had stored, and is not there.
  Store(const leat_run& run, Host host, OutputFile output, const std::string& lost_before);
  Store(const Store&) = delete;
  ~Store();
  void iteration(const leat_iteration_data& data);
  void close();
  void results(const leat_result_set& set);

  // Of one of several files

  /// False where somebody else has the file.
  bool begin_turn();
  void end_turn();
  /// In its turn.
  void close_file(bool with_ledger);
  /// Iterations that are there from servers before this one, ascending.
  const std::vector<std::int64_t>& stored_before() const;
  const std::string& path() const { return output_.path(); }
  const std::string& lost_before() const { return lost_before_; }
  /// Found out meanwhile. In its turn; "" is nothing.
  void note_lost(const std::string& before);

  // Of one of several pieces (split_store.hpp)

  /// Blocks of all that does not vary in time.
  std::unique_ptr<StoredIteration> constants() const;
  bool has_variable(std::uint32_t variable) const;
  /// Of an earlier run's, of which nothing is changed: throws unless this run and all servers can go on there, from `first` on.
  void expect_to_go_on(std::int64_t first, const leat_iteration_data* data);
  /// Goes on in that, with what it has before `first`.
  void go_on(std::int64_t first, const leat_iteration_data* data) { begin_to_append(first, data); }

 private:
  struct Open;  // what is closed together, before the file

  // Of a file that is appended to
  void begin_as_earlier();
  void expect_same_model() const;
  void expect_others(std::int64_t first);
  void begin_to_append(std::int64_t iteration, const leat_iteration_data* data);
  hsize_t keep_rows_before(std::int64_t first, const leat_iteration_data* data);
  void cut(hid_t file, StoredRows* stored, std::int64_t first);
  void warn_of_cut_constants() const;
  void go_on_in_old(std::int64_t first);
  void finish_draft(const std::string& path);
  bool leave_out_known_constants(std::vector<SoundBlocks>* all) const;

  std::unique_ptr<StoredIteration> parts_before(const leat_iteration_data& data) const;
  void store(const leat_iteration_data& data);
  void open();
  void continue_file();
  void start_file();
  void start_part();
  std::string write_variables(std::vector<SoundBlocks>* all, Lent* lent);
  std::string write_variable(SoundBlocks* blocks);
  void grow_variables();
  void settle_masks();
  void describe_places();
  void finish_row(const leat_iteration_data& data, bool whole);
  // Nobody sees a draft before it is finished: it is committed once.
  void stage() {
    if (!output_.is_draft()) flush(&CommittedFile::stage);
  }
  void commit();
  void look_for_name() {
    if (name_) name_->look([this] { return content(); });
  }
  void flush(int (CommittedFile::*step)());
  std::string own_group() const;
  bool store_ledger();
  void finish_file(const NameGuard::Content& content, bool with_ledger);
  void note_losses() const;
  void expect_name(const std::string& what);
  std::string content() const;

  const leat_run& run_;
  Host host_;
  std::vector<int> places_;  // of variables in the order in which they are written
  MeshShapes shapes_;
  OutputFile output_;
  std::unique_ptr<CommittedFile> disk_;
  std::optional<NameGuard> name_;
  std::string lost_before_;  // what a writer before this one had stored, and is not there
  Id file_;
  Id root_;  // of what this server writes: the file, or a group of it
  std::unique_ptr<Open> open_;
  std::unique_ptr<ViewKeeper> view_;          // on one of several nodes
  bool awaits_first_ = false;                 // the file is an earlier run's, and not open yet
  std::optional<AppendAgreement> agreement_;  // of several servers that do so
  std::optional<std::int64_t> first_;         // iteration of this run in it
  std::vector<std::string> cut_constants_;  // that the earlier run had, in iterations that are gone
  std::size_t unplaced_ = 0;                // meshes whose place is yet to be said
};

}  // namespace leat::hdf5
