// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/shared_store.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "server/plugins/hdf5/conventions/ledger.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/output/h5_file.hpp"
#include "server/plugins/hdf5/output/old_output.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/output/output_file.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

}  // namespace

SharedStore::SharedStore(const leat_run& run, Host host, int files)
    : run_(run),
      host_(host),
      files_(files),
      view_path_(wanted_path(run)),
      folder_(folder_of_parts(view_path_, run.session)) {
  fs::create_directories(folder_);
  const std::string own = path_of_part(folder_, run);
  name_lock_ = lock_soon(own);
  if (!name_lock_)
    throw std::runtime_error(own + " is being written by another" + FileLock::holder(own) +
                             ": give the two runs different LEAT_SESSION names");
  if (leat_run_is_resumed(&run)) find_stored();
  view_.emplace(run, host, folder_, view_path_, fs::last_write_time(folder_));
}

std::string SharedStore::path_of(int file) const {
  return fs::path(folder_) / (name_of_shared(file) + ".h5");
}

// Whether the servers before this one have a part there. Empty where nobody can tell now: another one is writing it, or its last
// commit cannot be finished.
std::optional<bool> SharedStore::has_own_part(const std::string& path) const {
  if (!fs::exists(path)) return false;
  const std::optional<FileLock> lock = lock_soon(path);
  if (!lock || finish_last_commit(path).kind == LastCommit::Kind::not_finished) return std::nullopt;
  return has_part(path, name_of_part(run_));
}

void SharedStore::note_stored(int file) {
  for (const std::int64_t each : place_of(file)->stored_before()) stored_before_.insert(each);
}

// Of the servers before this one. A file that another one is writing just now is looked into at the end: what this server stores
// a second time is the same, and views take the first.
void SharedStore::find_stored() {
  bool is_found = false;
  for (int file = 0; file < files_; ++file) {
    const std::optional<bool> has = has_own_part(path_of(file));
    if (!has) not_seen_.insert(file);
    if (!has.value_or(false)) continue;
    is_found = true;
    if (!begin_turn(file).empty()) continue;
    note_stored(file);
    place_of(file)->end_turn();
  }
  if (fs::exists(path_of_part(folder_, run_))) {
    open_own();
    note_stored(kOwn);
    is_found = true;
  }
  if (is_found) return not_seen_.clear();
  if (not_seen_.empty()) lost_before_ = loss_of_stored(host_.ledger(), run_.store);
}

// Files in which what servers before this one have stored may be, since nobody could look. One that cannot be looked into now either
// is no loss: the view says what of it cannot be shown.
void SharedStore::look_again() {
  if (not_seen_.empty()) return;
  const auto may_have = [this](int file) {
    const auto open = stores_.find(file);
    if (open != stores_.end() && open->second) return !open->second->stored_before().empty();
    try {
      return has_own_part(path_of(file)).value_or(true);
    } catch (const std::exception&) {
      return true;
    }
  };
  if (std::none_of(not_seen_.begin(), not_seen_.end(), may_have))
    lost_before_ = loss_of_stored(host_.ledger(), run_.store);
  not_seen_.clear();
}

// "": the file is locked, and open. Otherwise why this server cannot write there. What one cannot continue stays as it is: the others
// write there.
std::string SharedStore::begin_turn(int file) {
  const std::string path = path_of(file);
  const auto busy = [&path] {
    return " is being written by another server, which is not heard of" + FileLock::holder(path);
  };
  if (place_of(file)) return place_of(file)->begin_turn() ? "" : busy();
  OutputFile output(run_, host_, OutputFile::Shared{path});
  if (!output.lock()) return busy();
  try {
    place_of(file) = std::make_unique<Store>(run_, host_, std::move(output), lost_before_);
  } catch (const std::exception& e) {
    return std::string(" cannot be continued by this server: ") + e.what();
  }
  lost_before_.clear();
  return "";
}

void SharedStore::open_own() {
  if (place_of(kOwn)) return;
  name_lock_.reset();
  place_of(kOwn) = std::make_unique<Store>(
      run_, host_, OutputFile(run_, host_, OutputFile::Spare{}), std::exchange(lost_before_, ""));
}

// What has failed in a shared file is not tried again behind what others write there meanwhile: it is opened anew for the
// next iteration. That ends what HDF5 has of it while the file is still locked. Returns which file it was.
int SharedStore::write(const std::function<void(Store&)>& call) {
  const int file = host_.shared_file(files_);
  const bool has_turn = file >= 0;
  const std::string why_not = has_turn ? begin_turn(file) : "";
  if (!has_turn || !why_not.empty()) {
    if (has_turn && told_.insert(file).second)
      host_.warn(path_of(file) + why_not + ": this server writes into " +
                 path_of_part(folder_, run_) + " until it can");
    open_own();
    call(*place_of(kOwn));
    return kOwn;
  }
  try {
    call(*place_of(file));
    place_of(file)->end_turn();
    return file;
  } catch (...) {
    stores_.erase(file);
    throw;
  }
}

void SharedStore::iteration(const leat_iteration_data& data) {
  if (stored_before_.count(data.iteration) > 0) return;
  write([&data](Store& store) { store.iteration(data); });
  host_.leave_shared_file();
  view_->after_commit();
}

void SharedStore::results(const leat_result_set& set) {
  write([&set](Store& store) { store.results(set); });
}

// What was stored there is whole without it.
void SharedStore::close_other(int file) {
  try {
    Store& store = *place_of(file);
    if (file != kOwn && !store.begin_turn()) return;
    store.close_file(false);
    if (file != kOwn) store.end_turn();
  } catch (const std::exception& e) {
    host_.warn(e.what());
  }
}

// The ledger is in one of its files, that of its last turn.
void SharedStore::close() {
  std::string why;
  try {
    look_again();
    const int last = write([this](Store& store) {
      store.note_lost(lost_before_);
      store.close_file(true);
    });
    why = place_of(last)->lost_before();
    stores_.erase(last);
  } catch (const std::exception& e) {
    why = e.what();
    note_losses_beside(path_of_part(folder_, run_), losses_in(host_.ledger()));
  }
  for (auto& [file, store] : stores_) {
    if (store) close_other(file);
  }
  stores_.clear();
  host_.leave_shared_file();
  view_->at_close();
  for (const std::string& lost : {why, view_->not_shown()}) {
    if (!lost.empty()) throw std::runtime_error(lost);
  }
}

}  // namespace leat::hdf5
