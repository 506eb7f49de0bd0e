// SPDX-License-Identifier: Apache-2.0
// The part of Store for append="true". The file of an earlier run stays as it is until the first iteration comes. Is that behind
// all that the file has, the store goes on in it, as behind a server that has died. Else iterations from there on go: the others are
// written once more, as if they came from the ranks, by the same code into a file without a name, which then takes the place of the
// old one. So whoever looks, and whatever is killed when, there is the one or the other; and what is kept is what a run that had gone
// on would have.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "server/plugins/common/errno_text.hpp"
#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/conventions/ledger.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/output/append.hpp"
#include "server/plugins/hdf5/output/store.hpp"
#include "server/plugins/hdf5/output/store_open.hpp"

namespace leat::hdf5 {
namespace {

// Of the store that writes a draft: what it says is of no interest, but for what goes wrong; it makes progress for this one.
class HostOfDraft {
 public:
  explicit HostOfDraft(const Host& host) : host_(host) {
    abi_.size = offsetof(leat_host, publish);
    abi_.context = this;
    abi_.log = [](void* self, int level, const char* message) {
      if (level >= LEAT_LOG_ERROR) static_cast<HostOfDraft*>(self)->host_.error(message);
    };
    abi_.progress = [](void* self, std::uint64_t bytes) {
      static_cast<HostOfDraft*>(self)->host_.progress(bytes);
    };
  }
  HostOfDraft(const HostOfDraft&) = delete;
  Host host() const { return Host(&abi_); }

 private:
  Host host_;
  leat_host abi_{};
};

FilePlace draft_of(const std::string& path) { return FilePlace(path).beside(".cut"); }

std::string compression_in(const leat_run& run) {
  return option(run.options, run.option_count, "compression");
}

}  // namespace

bool has_known_constants_alone(const std::string& path, const leat_run& run,
                               const leat_iteration_data& data) {
  for (std::uint64_t i = 0; i < data.block_count; ++i) {
    if (leat_variable_at(&run, leat_block_at(&data, i)->variable)->time_varying) return false;
  }
  if (data.block_count == 0) return false;
  const Id file = open_of_leat(path);
  StoredRows stored(file, run);
  for (const SoundBlocks& blocks : sound_of(run, by_variable_of(data, places_of(run)))) {
    const leat_variable& variable = *leat_variable_at(&run, blocks.variable);
    if (blocks.list.empty()) continue;
    if (!is_dataset(file, variable.name) ||
        !changed_constant(*stored.constant(blocks.variable, blocks.list), variable, blocks.list)
             .empty())
      return false;
  }
  return true;
}

// Others go on in their parts when all can.
void Store::begin_as_earlier() {
  if (output_.view().empty()) return expect_same_model();
  agreement_.emplace(run_, std::filesystem::path(output_.path()).parent_path());
  std::string why;
  try {
    expect_same_model();
  } catch (const std::exception& e) {
    why = e.what();
  }
  agreement_->say(why);
  if (!why.empty()) throw std::runtime_error(why);
}

// The first iteration of this run may be behind one that this server's part lacks, as behind a kill of all.
void Store::expect_others(std::int64_t first) {
  if (!agreement_) return;
  agreement_->expect();
  const std::string missing =
      missing_before(run_, std::filesystem::path(output_.path()).parent_path(), first);
  if (missing.empty()) return;
  host_.warn(output_.path() + " goes on from iteration " + std::to_string(first) +
             " on and lacks iterations before that which other parts have: " + missing +
             ". What is missing of the whole array there is fill value");
}

// All differences at once, and before anything is stored.
void Store::expect_same_model() const {
  be_quiet();
  std::vector<std::string> all;
  const std::string& path = output_.path();
  draft_of(path).remove();  // of a server that was killed in the instant before it had its name
  try {
    const Id file = open_of_leat(path);
    all = differences(file, run_);
    if (all.empty() && compression_in(DescribedRun(file).run()) != compression_in(run_))
      host_.info(path +
                 ": the XML names another compression than before: what is in the file keeps " +
                 "the one that it has");
  } catch (const std::exception& e) {
    throw std::runtime_error("cannot append to " + path +
                             ", nothing of which is changed: " + e.what());
  }
  if (!all.empty()) throw std::runtime_error(refusal(path, all));
}

// Where it fails the next iteration tries again, and keeps no more.
void Store::begin_to_append(std::int64_t iteration, const leat_iteration_data* data) {
  if (!first_) first_ = has_one_row(run_) ? 0 : iteration;
  try {
    expect_others(*first_);
    const hsize_t gone = keep_rows_before(*first_, data);
    go_on_in_old(*first_);
    awaits_first_ = false;
    host_.info(
        "going on in " + output_.path() + " from iteration " + std::to_string(*first_) +
        " on, behind " + content() +
        (gone == 0 ? "" : "; " + std::to_string(gone) + " that it had from there on were cut off"));
  } catch (const std::exception& e) {
    name_.reset();
    open_.reset();
    root_ = Id();
    file_ = Id();
    disk_.reset();
    throw std::runtime_error(output_.path() + ", iteration " + std::to_string(iteration) + ": " +
                             e.what());
  }
}

void Store::expect_to_go_on(std::int64_t first, const leat_iteration_data* data) {
  expect_others(first);
  if (!data) return;
  const Id file = open_of_leat(output_.path());
  const std::vector<std::string> all = differences(file, StoredRows(file, run_), run_, *data);
  if (!all.empty()) throw std::runtime_error(refusal(output_.path(), all));
}

// How many iterations are cut off.
hsize_t Store::keep_rows_before(std::int64_t first, const leat_iteration_data* data) {
  const Id file = open_of_leat(output_.path());
  StoredRows stored(file, run_);
  if (data) {
    const std::vector<std::string> all = differences(file, stored, run_, *data);
    if (!all.empty()) throw std::runtime_error(refusal(output_.path(), all));
  }
  const auto is_kept = [first](std::int64_t iteration) { return iteration < first; };
  const std::vector<std::int64_t> products = stored.with_products();
  const auto& rows = stored.iterations();
  const auto kept = std::count_if(rows.begin(), rows.end(), is_kept);
  const bool all_kept = kept == static_cast<std::ptrdiff_t>(rows.size()) &&
                        std::all_of(products.begin(), products.end(), is_kept);
  // One that has nothing has said already what its rows are called.
  if (!all_kept || rows.empty()) cut(file, &stored, first);
  return rows.size() - static_cast<std::size_t>(kept);
}

void Store::cut(hid_t file, StoredRows* stored, std::int64_t first) {
  const HostOfDraft host(host_);
  const std::string path = draft_of(output_.path()).path();
  Store draft(run_, host.host(),
              OutputFile(host.host(), OutputFile::Draft{path, output_.view(), output_.piece()}),
              "");
  std::set<std::int64_t> numbers;  // of iterations, and of what was made of some
  const std::vector<std::int64_t>& rows = stored->iterations();
  for (const std::int64_t number : stored->with_products()) numbers.insert(number);
  numbers.insert(rows.begin(), rows.end());
  for (const std::int64_t number : numbers) {
    if (number >= first) break;
    const auto row = std::find(rows.begin(), rows.end(), number);
    if (row != rows.end())
      draft.iteration(stored->at(static_cast<hsize_t>(row - rows.begin()))->data);
    for (const auto& made : stored->products(number)) draft.results(made->set);
  }
  for (std::uint64_t i = 0; i < run_.variable_count; ++i) {
    const leat_variable& variable = *leat_variable_at(&run_, i);
    if (!variable.time_varying && is_dataset(file, variable.name) &&
        !is_dataset(draft.root_, variable.name))
      cut_constants_.emplace_back(variable.name);
  }
  set_attribute(draft.root_, "history", stored->history());
  if (!output_.view().empty()) set_attribute(draft.root_, kStarted, stored->started());
  draft.finish_draft(output_.path());
}

// They were written in an iteration that was cut off.
void Store::warn_of_cut_constants() const {
  for (const std::string& name : cut_constants_) {
    if (is_dataset(root_, name)) continue;
    host_.warn(output_.path() + ": " + name +
               ", which does not vary in time, was cut off with the iterations from " +
               std::to_string(*first_) +
               " on, and this run has not written it again: it is not in the file. A run that "
               "goes on there has to write it");
  }
}

// It is on the disk as a whole before it has a name, as the option durability says.
void Store::finish_draft(const std::string& path) {
  const std::string what = "cannot cut " + path;
  settle_masks();
  open_->list_named();
  open_.reset();
  root_ = Id();
  check(H5Fclose(file_.take()), what);
  const auto expect = [&what](int code) {
    if (code != 0) throw std::runtime_error(what + ": " + errno_text(code));
  };
  expect(disk_->commit());
  expect(disk_->finish());
  const FilePlace own = draft_of(path);
  expect(disk_->publish());
  if (const int code = own.rename_to(FilePlace(path)); code != 0) {
    own.remove();
    expect(code);
  }
  if (durability_of(run_) != Durability::none) expect(own.sync_folder());
}

void Store::go_on_in_old(std::int64_t first) {
  const std::string& path = output_.path();
  disk_ = open_disk(path, CommittedFile::Start::existing, run_, host_);
  file_ = open_file(path, disk_.get());
  root_ = Id(H5Gopen2(file_, "/", H5P_DEFAULT), "cannot open " + path);
  describe_appended(root_, run_, first);
  remove_ledger(root_);
  remove_attribute(root_, kFinished);
  if (!output_.view().empty())
    remove_losses_beside(path_of_part(std::filesystem::path(path).parent_path(), run_));
  open_ = std::make_unique<Open>(root_, run_, host_, shapes_);
  commit();
  name_.emplace(&output_, disk_.get(), host_);
}

// What does not vary in time is written by a run that restarts as by the first one. Is it the same, the file has it. True where there
// is nothing else in the iteration: then it has no row, as in a run that was not interrupted.
bool Store::leave_out_known_constants(std::vector<SoundBlocks>* all) const {
  const auto is_known = [this](const SoundBlocks& blocks) {
    const leat_variable& variable = *leat_variable_at(&run_, blocks.variable);
    return !variable.time_varying && !blocks.list.empty() && is_dataset(root_, variable.name);
  };
  if (std::none_of(all->begin(), all->end(), is_known)) return false;
  StoredRows stored(root_, run_);
  for (SoundBlocks& blocks : *all) {
    if (!is_known(blocks)) continue;
    const leat_variable& variable = *leat_variable_at(&run_, blocks.variable);
    const std::string changed =
        changed_constant(*stored.constant(blocks.variable, blocks.list), variable, blocks.list);
    if (changed.empty())
      blocks.list.clear();
    else
      host_.warn(output_.path() + ": " + std::string(variable.name) +
                 ", which does not vary in time, has other values now than in the run before (" +
                 changed + "): the file has the new ones from now on, for all iterations");
  }
  return std::all_of(all->begin(), all->end(),
                     [](const SoundBlocks& blocks) { return blocks.list.empty(); });
}

}  // namespace leat::hdf5
