// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/store.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "server/plugins/common/errno_text.hpp"
#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/arrays/row_tables.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/ledger.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/output/append.hpp"
#include "server/plugins/hdf5/output/filter_errors.hpp"
#include "server/plugins/hdf5/output/h5_file.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/output/product_group.hpp"
#include "server/plugins/hdf5/output/store_open.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr int kMostNamed = 3;  // of the variables that an error is about

bool has(const std::vector<std::int64_t>& ascending, std::int64_t number) {
  return std::binary_search(ascending.begin(), ascending.end(), number);
}

// `what` is what could not be done when there is an errno.
void expect_done(int code, const std::string& what) {
  if (code != 0) throw std::runtime_error(what + ": " + errno_text(code));
}

void add_error(std::string* all, const std::string& one) {
  *all += (all->empty() ? "" : "; ") + one;
}

OutputFile output_for(const leat_run& run, const Host& host) {
  check_options(run);
  return OutputFile(run, host);
}

}  // namespace

Store::Store(const leat_run& run, Host host)
    : run_(run),
      host_(host),
      places_(places_of(run)),
      shapes_(run, host),
      output_(output_for(run, host)) {
  open();
  if (!output_.view().empty())
    view_ = std::make_unique<ViewKeeper>(run, host, fs::path(output_.path()).parent_path().string(),
                                         output_.view(), fs::last_write_time(output_.path()));
}

Store::Store(const leat_run& run, Host host, OutputFile output, const std::string& lost_before)
    : run_(run),
      host_(host),
      places_(places_of(run)),
      shapes_(run, host),
      output_(std::move(output)),
      lost_before_(lost_before) {
  open();
}

void Store::open() {
  unplaced_ = meshes_without_place(run_);
  awaits_first_ = output_.is_earlier();
  if (awaits_first_) return begin_as_earlier();
  if (output_.continues()) continue_file();
  if (leat_run_is_resumed(&run_) && output_.is_missing())
    lost_before_ = loss_of_stored(host_.ledger(), run_.store);
  if (!open_) start_file();
  if (!output_.is_draft()) name_.emplace(&output_, disk_.get(), host_);
}

std::string Store::own_group() const { return output_.is_shared() ? name_of_part(run_) : ""; }

void Store::continue_file() {
  const std::string group = own_group();
  try {
    disk_ = open_disk(output_.path(), CommittedFile::Start::existing, run_, host_);
    file_ = open_file(output_.path(), disk_.get());
    // What the head says of its length is that of the last commit: others may have taken room behind it, and not committed yet.
    if (!group.empty()) expect_done(disk_->begin_turn(), "cannot write " + output_.path());
    if (!group.empty() && !is_in(file_, group)) return start_part();
    root_ = Id(H5Gopen2(file_, group.empty() ? "/" : group.c_str(), H5P_DEFAULT),
               "cannot open the part of this server");
    if (!group.empty() && !run_in(root_).is_of(run_))
      throw std::runtime_error("it is of an earlier run of session " + run_in(root_).session);
    open_ = std::make_unique<Open>(root_, run_, host_, shapes_);
    if (output_.piece()) remove_attribute(root_, kFinished);
    if (leat_run_is_resumed(&run_)) note_continued(root_, run_);
    if (lost_before_.empty()) lost_before_ = noted_loss(root_);
    host_.info("continuing " + output_.path() + " behind its " + std::to_string(open_->rows) +
               " iterations");
  } catch (const std::exception& e) {
    open_.reset();
    root_ = Id();
    file_ = Id();
    if (output_.is_shared()) throw;
    output_.give_up_old(e.what());
  }
}

void Store::start_file() {
  disk_ = open_disk(output_.path(), CommittedFile::Start::anew, run_, host_);
  file_ = create_file(output_.path(), disk_.get());
  if (output_.is_shared()) describe_shared(file_, run_, output_.view());
  start_part();
  if (!output_.is_draft()) expect_done(disk_->publish(), "cannot create " + output_.path());
}

// All of the file, or a group of one that others write too.
void Store::start_part() {
  const std::string group = own_group();
  const std::string what = "cannot begin " + output_.path();
  root_ = group.empty()
              ? Id(H5Gopen2(file_, "/", H5P_DEFAULT), what)
              : Id(H5Gcreate2(file_, group.c_str(), link_creation(), group_creation(), H5P_DEFAULT),
                   what);
  describe_file(root_, run_);
  note_loss(root_, lost_before_);
  if (!output_.view().empty()) describe_part(root_, run_, output_.view());
  if (const auto& piece = output_.piece()) describe_piece(root_, piece->split, piece->begin);
  open_ = std::make_unique<Open>(root_, run_, host_, shapes_);
  commit();
  host_.info("writing " + output_.path() + (group.empty() ? "" : ", /" + group));
}

bool Store::begin_turn() {
  if (!output_.lock()) return false;
  if (const int code = disk_->begin_turn(); code != 0) {
    output_.unlock();
    expect_done(code, "cannot write " + output_.path());
  }
  return true;
}

void Store::end_turn() {
  const int code = disk_->end_turn();
  output_.unlock();
  expect_done(code, "cannot write " + output_.path());
}

void Store::note_lost(const std::string& before) {
  if (before.empty()) return;
  lost_before_ = before;
  note_loss(root_, before);
}

std::unique_ptr<StoredIteration> Store::constants() const {
  return StoredRows(root_, run_).constants();
}

bool Store::has_variable(std::uint32_t variable) const {
  return is_dataset(root_, leat_variable_at(&run_, variable)->name);
}

const std::vector<std::int64_t>& Store::stored_before() const { return open_->stored_before; }

Store::~Store() = default;

void Store::iteration(const leat_iteration_data& data) {
  be_quiet();
  if (awaits_first_ && has_known_constants_alone(output_.path(), run_, data)) return;
  if (awaits_first_) begin_to_append(data.iteration, &data);
  shapes_.look_at(data);
  if (has(open_->stored_before, data.iteration)) return;
  if (const auto before = parts_before(data)) return store(WithEarlier(run_, data, *before).data());
  store(data);
}

// Blocks of one size have a place each. Those whose size varies lie one behind the other: when some come later than others, all are
// written again.
std::unique_ptr<StoredIteration> Store::parts_before(const leat_iteration_data& data) const {
  std::map<std::uint32_t, std::set<hsize_t>> records;  // that come, by variable
  for (const leat_block& block : Blocks(data)) {
    const leat_variable& variable = *leat_variable_at(&run_, block.variable);
    if (variable.time_varying || variable.has_global || !varies_in_shape(variable)) continue;
    const BlockTable* const table = open_->blocks.of(block.variable);
    if (!table) continue;
    std::set<hsize_t>& its = records[block.variable];
    if (const auto record = table->record_of(entry_of(variable, block))) its.insert(*record);
  }
  std::set<std::uint32_t> again;
  for (const auto& [variable, its] : records)
    if (its.size() < open_->blocks.of(variable)->size() && has_variable(variable))
      again.insert(variable);
  if (again.empty()) return nullptr;
  return StoredRows(root_, run_).constants([&again](std::uint32_t variable) {
    return again.count(variable) > 0;
  });
}

void Store::store(const leat_iteration_data& data) {
  const std::vector<BlockList> by_variable = by_variable_of(data, places_);
  std::vector<SoundBlocks> sound = sound_of(run_, by_variable);
  if (first_ && leave_out_known_constants(&sound)) return;
  const std::string what = output_.path() + ", iteration " + std::to_string(data.iteration) + ": ";
  expect_name(what);
  try {
    expect_room_for(open_->scales.iteration(), data.iteration);
    reserve_room(disk_.get(), data);
    describe_places();
    open_->expect(data);
    begin_blocks(open_->target, sound, open_->rows, data.iteration, open_->pending);
  } catch (const std::exception& e) {
    throw std::runtime_error(what + e.what());
  }
  Lent lent(*disk_, by_variable, leat_iteration_waiting(&data));
  std::string errors = write_variables(&sound, &lent);
  // The row is used up even when nothing could be stored: what a failed write left behind is never
  // taken for data.
  ++open_->rows;
  try {
    finish_row(data, errors.empty() && data.complete != 0);
  } catch (const std::exception& e) {
    add_error(&errors, e.what());
  }
  if (!errors.empty()) throw std::runtime_error(what + errors);
}

// What parameters say of where meshes lie is known with the first iteration, or later. What the file says already stays: nothing is
// stored under other coordinates than its own.
void Store::describe_places() {
  const std::size_t unplaced = meshes_without_place(run_);
  if (unplaced_ == unplaced) return;
  const DescribedRun before(root_);
  if (const std::vector<std::string> all = differences_of_places(before.run(), run_); !all.empty())
    throw std::runtime_error("the file is of a mesh that lies elsewhere: " + all.front());
  if (meshes_without_place(before.run()) > unplaced) describe_run_anew(root_, run_);
  unplaced_ = unplaced;
}

// Returns what went wrong.
std::string Store::write_variables(std::vector<SoundBlocks>* all, Lent* lent) {
  open_->in_row.clear();
  std::string errors;
  int failed = 0;
  for (SoundBlocks& blocks : *all) {
    const FilterErrors lost(run_, blocks.variable);
    std::string error = write_variable(&blocks);
    try {
      lost.tell(root_, *all);
    } catch (const std::exception& e) {
      if (error.empty()) error = e.what();
    }
    if (!error.empty() && ++failed <= kMostNamed) add_error(&errors, error);
  }
  if (failed > kMostNamed)
    add_error(&errors, "and so for " + std::to_string(failed - kMostNamed) + " more variables");
  if (const int code = lent->give_back(); code != 0)
    add_error(&errors, std::string("cannot write blocks: ") + errno_text(code));
  return errors;
}

// Returns what went wrong.
std::string Store::write_variable(SoundBlocks* blocks) {
  try {
    const leat_variable& variable = *leat_variable_at(&run_, blocks->variable);
    std::unique_ptr<Writer>& writer = open_->writers[blocks->variable];
    if (!writer && !blocks->list.empty())
      writer = make_writer(open_->target, variable, blocks->list);
    if (!blocks->list.empty()) {
      writer->write(open_->rows, blocks->list, &blocks->errors);
      open_->in_row.insert(blocks->variable);
    }
    blocks->errors.raise();
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

// Each of them, whatever becomes of the others.
void Store::grow_variables() {
  std::string error;  // the first
  const auto attempt = [&error](const auto& step) {
    try {
      step();
    } catch (const std::exception& e) {
      if (error.empty()) error = e.what();
    }
  };
  for (auto& [variable, writer] : open_->writers) {
    if (!writer) continue;
    attempt([&, &own = *writer] { own.grow_to_rows(open_->rows); });
    const leat_variable& described = *leat_variable_at(&run_, variable);
    if (!described.time_varying) continue;
    const bool written = open_->in_row.count(variable) > 0;
    attempt([&, number = variable] {
      open_->written_masks[number].note(open_->target, described.name, open_->rows - 1, written);
    });
  }
  if (!error.empty()) throw std::runtime_error(error);
}

void Store::settle_masks() {
  for (auto& [variable, mask] : open_->written_masks) {
    try {
      mask.settle(open_->target, leat_variable_at(&run_, variable)->name);
    } catch (const std::exception& e) {
      host_.error(output_.path() + ": " + e.what() +
                  ": iterations that it calls not written may have been; the ledger is right");
    }
  }
}

void Store::finish_row(const leat_iteration_data& data, bool whole) {
  open_->pending.push_back(data.iteration);
  open_->pending_complete.push_back(whole ? 1 : 0);
  grow_variables();
  open_->blocks.grow_to_rows(open_->rows);
  open_->parameters.write(open_->rows - 1, data);
  open_->time.write(open_->rows - 1, data);
  // The data are in the file before the row that names them: a writer may be killed between the
  // two.
  stage();
  open_->vtkhdf.add(open_->rows - 1, data, open_->in_row);
  const hsize_t first = open_->rows - open_->pending.size();
  open_->whole.grow_to({open_->rows});
  open_->whole.write({first}, {open_->pending.size()}, open_->pending_complete.data());
  open_->scales.iteration().grow_to({open_->rows});
  write_numbers(open_->scales.iteration(), {first}, {open_->pending.size()}, open_->pending);
  commit();
  open_->pending.clear();
  open_->pending_complete.clear();
  look_for_name();
  if (view_) view_->after_commit();
}

void Store::results(const leat_result_set& set) {
  be_quiet();
  if (awaits_first_) begin_to_append(set.iteration, nullptr);
  const std::string path = ProductGroup::path_of(set);
  const auto found = open_->products.find(path);
  ProductGroup& group = found != open_->products.end()
                            ? found->second
                            : open_->products.try_emplace(path, root_, path).first->second;
  expect_name(output_.path() + ": ");
  expect_room_for(open_->scales.iteration(), set.iteration);
  std::string failed;
  try {
    group.add(set);
  } catch (const std::exception& e) {
    failed = e.what();
  }
  stage();
  group.finish_row(set.iteration);
  commit();
  look_for_name();
  if (failed.empty()) return;
  throw std::runtime_error(output_.path() + ", " + path + ", iteration " +
                           std::to_string(set.iteration) + ": not stored: " + failed);
}

// Dimensions that are named anew in a later row are listed by now.
void Store::commit() {
  if (!output_.is_draft()) return flush(&CommittedFile::commit);
  if (open_) open_->list_named();
}

// A step that fails in a folder that is gone is tried again when the file has a name.
void Store::flush(int (CommittedFile::*step)()) {
  if (open_) open_->list_named();
  check(H5Fflush(file_, H5F_SCOPE_LOCAL), "cannot write " + output_.path());
  int code = (*disk_.*step)();
  if (code != 0 && name_ && name_->look([this] { return content(); })) code = (*disk_.*step)();
  expect_done(code, "cannot write " + output_.path());
}

// Nothing is stored in a file that nobody can open.
void Store::expect_name(const std::string& what) {
  if (!name_) return;
  name_->try_again([this] { return content(); });
  if (!name_->why_none().empty()) throw std::runtime_error(what + name_->why_none());
}

std::string Store::content() const {
  try {
    return described_iterations(numbers_in(open_->scales.iteration()));
  } catch (const std::exception&) {
    return "all of its iterations";
  }
}

// A file without it is still a whole file; what is lost is said all the same, where there is a view
// that counts it.
bool Store::store_ledger() {
  const std::string json = host_.ledger();
  try {
    if (const int code = disk_->make_room(json.size()); code != 0)
      throw std::runtime_error(errno_text(code));
    write_ledger(root_, json);
    return true;
  } catch (const std::exception& e) {
    host_.warn(output_.path() + ": the ledger is not in it: " + e.what());
    return false;
  }
}

// In a folder that was removed meanwhile nothing can be finished, until the file has a name again.
void Store::finish_file(const NameGuard::Content& content, bool with_ledger) {
  const bool has_ledger = !with_ledger || store_ledger();
  if (!has_ledger && !output_.view().empty()) note_losses();
  root_ = Id();
  check(H5Fclose(file_.take()), "cannot finish " + output_.path());
  const auto finish = [this] {
    const int code = disk_->commit();
    return code == 0 ? disk_->finish() : code;
  };
  int code = finish();
  if (code != 0 && name_->look(content)) code = finish();
  expect_done(code, "cannot finish " + output_.path());
}

void Store::note_losses() const {
  note_losses_beside(path_of_part(fs::path(output_.path()).parent_path(), run_),
                     losses_in(host_.ledger()));
}

void Store::close_file(bool with_ledger) {
  be_quiet();
  shapes_.close([this](std::uint32_t variable) { return has_variable(variable); });
  const auto all = [text = content()] { return text; };
  name_->look(all);
  settle_masks();
  warn_of_cut_constants();
  open_->end();
  open_.reset();
  if (!with_ledger && output_.piece()) set_attribute(root_, kFinished, std::int64_t{1});
  finish_file(all, with_ledger);
  if (const std::string how = disk_->direct_writer().summary(); !how.empty())
    host_.info(output_.path() + ": " + how);
  name_->look(all);
  if (!name_->why_none().empty()) throw std::runtime_error(name_->why_none());
}

void Store::close() {
  if (awaits_first_)
    return host_.info(output_.path() +
                      " is as it was: nothing of this run came to be stored in it");
  std::string why;
  try {
    close_file(true);
  } catch (const std::exception& e) {
    why = e.what();
    if (view_ && name_->why_none().empty()) note_losses();
  }
  if (appends(run_) && view_)
    AppendAgreement(run_, fs::path(output_.path()).parent_path()).remove();
  if (view_) view_->at_close();
  const std::string not_shown = view_ ? view_->not_shown() : "";
  for (const std::string& lost : {why, lost_before_, not_shown}) {
    if (!lost.empty()) throw std::runtime_error(lost);
  }
}

}  // namespace leat::hdf5
