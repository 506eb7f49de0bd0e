// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/split_store.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/ledger.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/output/append.hpp"
#include "server/plugins/hdf5/output/earlier_parts.hpp"
#include "server/plugins/hdf5/output/old_output.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/output/product_group.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr double kBeforeAll = -std::numeric_limits<double>::infinity();
constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kBegun = "begun\n";
constexpr const char* kFirstName = "000000";  // of what comes before any time is known

bool has_pieces(const std::string& folder, const leat_run& run) {
  return !files_of_server(folder, run).empty();
}

}  // namespace

SplitStore::SplitStore(const leat_run& run, Host host)
    : run_(run),
      host_(host),
      splitting_(splitting_of(run)),
      split_text_(split_text(run)),
      now_(kBeforeAll),
      last_time_(kNoTime) {
  if (!appends(run) || !take_earlier()) {
    take_folder(folder_for_new());
    leat_run_is_resumed(&run)
        ? find_own()
        : move_away_parts(files_of_server(folder_, run_),
                          option(run.options, run.option_count, "exists", "keep"), host_);
  }
  view_.emplace(run, host, folder_, wanted_path(run), fs::last_write_time(folder_));
}

// Who stores what was in memory when all of a run was killed leaves the pieces alone in which another run goes on by now.
std::string SplitStore::folder_for_new() const {
  const std::string own = folder_of_parts(wanted_path(run_), run_.session);
  std::string folder = own;
  if (!appends(run_) || !leat_run_is_drained(&run_)) return folder;
  for (int number = 1; has_pieces(folder, run_); ++number)
    folder = own + "." + std::to_string(number);
  return folder;
}

void SplitStore::take_folder(const std::string& folder) {
  fs::create_directories(folder);
  folder_ = folder;
  server_path_ = path_of_part(folder, run_);
  was_begun_ = leat_run_is_resumed(&run_) && FileLock::left_by(server_path_) == kBegun;
  name_lock_ = lock_soon(server_path_);
  if (name_lock_ && was_begun_) name_lock_->mark(kBegun);
  if (name_lock_) return;
  const bool is_own = folder == folder_of_parts(wanted_path(run_), run_.session);
  throw std::runtime_error(server_path_ + " is being written by another run" +
                           FileLock::holder(server_path_) +
                           (is_own ? ": give the two runs different LEAT_SESSION names"
                                   : ": start this one when that has ended"));
}

// What servers before this one have stored. Pieces that somebody has moved away meanwhile are none of its business.
void SplitStore::find_own() {
  found_ = pieces_in(folder_, run_, host_);
  const bool is_there =
      std::any_of(found_.begin(), found_.end(), [](const Piece& each) { return each.is_of_run; });
  if (!is_there && was_begun_) lost_before_ = loss_of_stored(host_.ledger(), run_.store);
  if (!is_there) found_.clear();
  for (const Piece& each : found_) {
    stored_before_.insert(each.iterations.begin(), each.iterations.end());
    products_before_.insert(each.products.begin(), each.products.end());
    last_path_ = each.path;
    if (!each.iterations.empty()) with_rows_ = each.path;
    if (each.split == split_text_) now_ = each.begin;
    if (!std::isnan(each.last_time)) last_time_ = each.last_time;
  }
}

// False where there is nothing of an earlier run.
bool SplitStore::take_earlier() {
  const std::string view = wanted_path(run_);
  const std::string folder = folder_to_append(run_, view);
  if (folder.empty()) return false;
  if (leat_run_is_resumed(&run_) && has_pieces(folder, run_)) {
    take_folder(folder);
    find_own();
    if (!stored_before_.empty() || !found_.empty()) return true;
    lost_before_.clear();
    name_lock_.reset();
  }
  if (!may_take_earlier(run_, folder)) return false;
  if (!has_pieces(folder, run_) && is_just_begun(run_, folder)) {
    take_folder(folder);
    return true;
  }
  if (!is_one_of_several_nodes(run_) && !lock_soon(path_of_part(folder, run_))) {
    host_.warn(view + " is being written by another run" +
               FileLock::holder(path_of_part(folder, run_)) +
               ": this one begins an output of its own");
    return false;
  }
  take_if_all_can(run_, folder, view, [&] {
    take_folder(folder);
    found_ = pieces_in(folder, run_, host_);
    if (found_.empty() || found_.back().split.empty())
      throw std::runtime_error(refusal_of_parts(view, "it was not written with split=\"...\""));
    awaits_first_ = true;
    open(found_.back().path, found_.back().begin, true);
  });
  return true;
}

// Nothing of the earlier run is changed before the first iteration is there, and all servers can go on.
void SplitStore::begin_to_append(std::int64_t iteration, const leat_iteration_data* data) {
  if (!first_) first_ = iteration;
  if (!store_) open(found_.back().path, found_.back().begin, true);
  store_->expect_to_go_on(*first_, data);
  go_back_to(*first_);
  awaits_first_ = false;
  remove_losses_beside(server_path_);
  if (found_.empty()) return;
  const Piece& last = found_.back();
  last_path_ = last.path;
  for (const Piece& each : found_)
    if (!each.iterations.empty()) with_rows_ = each.path;
  last_time_ = last.last_time;
  now_ = last.split == split_text_ ? last.begin : kBeforeAll;
  const std::optional<model::SplitPeriod> period = data ? period_of(*data) : std::nullopt;
  const bool is_new = last.split != split_text_ || (period && period->begin > now_);
  if (is_new && !last.has_something_from(*first_)) return store_.reset();
  try {
    store_->go_on(*first_, data);
  } catch (const std::exception&) {
    awaits_first_ = true;
    throw;
  }
}

// Without the pieces that have nothing before it, the last one first: whoever is killed between two leaves what is whole.
void SplitStore::go_back_to(std::int64_t first) {
  if (found_.back().has_something_before(first)) return;
  store_.reset();
  while (!found_.empty() && !found_.back().has_something_before(first)) {
    host_.info(found_.back().path + " is removed: it had nothing from before iteration " +
               std::to_string(first) + ", from where this run goes on");
    fs::remove(found_.back().path);
    found_.pop_back();
  }
  if (!found_.empty()) open(found_.back().path, found_.back().begin, true);
}

std::optional<model::SplitPeriod> SplitStore::period_of(const leat_iteration_data& data) {
  if (splitting_.is_of_iterations()) return splitting_.of_iteration(data.iteration);
  if (const double* const window = leat_iteration_window(&data))
    return splitting_.of_window(window[0], window[1]);
  const double time = time_of(run_, data);
  return splitting_.of_time(time, std::isnan(last_time_) ? 0 : time - last_time_);
}

std::string SplitStore::free_path(const std::string& name) const {
  const std::string wanted = path_of_piece(folder_, run_, name);
  for (int number = 0;; ++number) {
    std::string path = numbered(wanted, number);
    if (!fs::exists(fs::symlink_status(path))) return path;
    const auto known = std::find_if(found_.begin(), found_.end(),
                                    [&](const Piece& each) { return each.path == path; });
    const bool is_own = known != found_.end() && known->is_of_run && known->split == split_text_;
    // What cannot be read gets another name by who tries to go on with it.
    if (is_own || (known == found_.end() && number == 0)) return path;
  }
}

// Throws where there is no room for it: then the next iteration tries again.
void SplitStore::begin(const model::SplitPeriod& period) {
  carry_constants();
  finish();
  open(free_path(period.name), period.begin, false);
  now_ = period.begin;
  leave_out_what_is_there();
}

void SplitStore::open(const std::string& path, double begin, bool is_earlier) {
  store_ = std::make_unique<Store>(
      run_, host_, OutputFile(run_, host_, OutputFile::Piece{path, split_text_, begin, is_earlier}),
      lost_before_);
  lost_before_ = store_->lost_before();
  if (!is_earlier) name_lock_->mark(kBegun);
}

// Of the piece that is being written, or of the last one that has a row: one that was just begun has none of them. They stay in memory until the next one has them.
void SplitStore::carry_constants() {
  if (carried_) return;
  try {
    if (store_) {
      carried_ = store_->constants();
    } else if (!with_rows_.empty() && fs::exists(with_rows_)) {
      const Id file = open_of_leat(with_rows_);
      carried_ = StoredRows(file, run_).constants();
    }
  } catch (const std::exception& e) {
    host_.warn("what does not vary in time cannot be read from " +
               (store_ ? store_->path() : with_rows_) +
               ", and is not in the next file: " + e.what());
  }
}

void SplitStore::leave_out_what_is_there() {
  if (!carried_) return;
  std::vector<leat_block>& blocks = carried_->blocks;
  std::erase_if(blocks,
                [this](const leat_block& block) { return store_->has_variable(block.variable); });
  if (blocks.empty()) carried_.reset();
}

// All of its rows are in it before. What cannot be finished is tried again.
void SplitStore::finish() {
  if (!store_) return;
  last_path_ = store_->path();
  try {
    store_->close_file(false);
  } catch (const std::exception& e) {
    unfinished_.push_back(last_path_);
    host_.warn(last_path_ + " could not be closed: " + e.what() +
               ". What was stored in it is there; it is tried again when the run ends");
  }
  store_.reset();
}

void SplitStore::finish_others() {
  for (const std::string& path : unfinished_) {
    const LastCommit commit = finish_last_commit(path);
    if (commit.kind == LastCommit::Kind::not_finished)
      host_.warn(path + ": its last commit cannot be finished: " + commit.why + ". It is kept as " +
                 commit.kept);
  }
  unfinished_.clear();
}

void SplitStore::iteration(const leat_iteration_data& data) {
  if (stored_before_.count(data.iteration) > 0) return;
  be_quiet();
  if (awaits_first_ && has_known_constants_alone(found_.back().path, run_, data)) return;
  if (awaits_first_) begin_to_append(data.iteration, &data);
  const std::optional<model::SplitPeriod> period = period_of(data);
  if (period && period->begin > now_) begin(*period);
  expect_store();
  if (!period) warn_of_no_time(data.iteration);
  if (const double time = time_of(run_, data); !std::isnan(time)) last_time_ = time;
  if (carried_) {
    store_->iteration(WithEarlier(run_, data, *carried_).data());
    carried_.reset();
  } else {
    store_->iteration(data);
  }
  view_->after_commit();
}

// Once: it may be so in all of the run, and there is one file then.
void SplitStore::warn_of_no_time(std::int64_t iteration) {
  if (has_warned_) return;
  has_warned_ = true;
  host_.warn("iteration " + std::to_string(iteration) + " says no time, and stays in " +
             store_->path() + ": split=\"" + split_text_ +
             "\" goes by the time, which the simulation sets before the end of each iteration");
}

// What is made of an iteration comes later than that, maybe when it has been closed.
void SplitStore::results(const leat_result_set& set) {
  if (products_before_.count({ProductGroup::path_of(set), set.iteration}) > 0) return;
  be_quiet();
  if (awaits_first_) begin_to_append(set.iteration, nullptr);
  if (splitting_.is_of_iterations()) {
    const model::SplitPeriod period = splitting_.of_iteration(set.iteration);
    if (period.begin > now_) begin(period);
  }
  expect_store();
  store_->results(set);
}

// Of which the time is not known, or lies before.
void SplitStore::expect_store() {
  if (store_) return;
  if (last_path_.empty()) return begin({now_, kFirstName});
  const std::string name = fs::path(last_path_).stem().string();
  begin({now_, name.substr(name.find('.') + 1)});
}

void SplitStore::close() {
  be_quiet();
  if (awaits_first_)
    return host_.info(folder_ + " is as it was: nothing of this run came to be stored in it");
  std::string why;
  try {
    expect_store();
    store_->close_file(true);
  } catch (const std::exception& e) {
    why = e.what();
    note_losses_beside(server_path_, losses_in(host_.ledger()));
  }
  store_.reset();
  try {
    finish_others();
  } catch (const std::exception& e) {
    if (why.empty()) why = e.what();
  }
  if (appends(run_)) AppendAgreement(run_, folder_).remove();
  view_->at_close();
  for (const std::string& lost : {why, lost_before_, view_->not_shown()}) {
    if (!lost.empty()) throw std::runtime_error(lost);
  }
}

}  // namespace leat::hdf5
