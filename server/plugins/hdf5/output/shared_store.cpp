// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/shared_store.hpp"

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

std::string own_path(const leat_run& run, const std::string& folder) {
  return fs::path(folder) / (name_of_part(run) + ".h5");
}

}  // namespace

SharedStore::SharedStore(const leat_run& run, Host host, int files)
    : run_(run),
      host_(host),
      files_(files),
      view_path_(wanted_path(run)),
      folder_(folder_of_parts(view_path_, run.session)) {
  fs::create_directories(folder_);
  const std::string own = own_path(run, folder_);
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

// Of the servers before this one. A file that another one is writing just now is not looked into: what this server stores
// a second time is the same, and views take the first.
void SharedStore::find_stored() {
  const std::string part = name_of_part(run_);
  bool is_found = false;
  const auto note = [&](int file) {
    for (const std::int64_t each : place_of(file)->stored_before()) stored_before_.insert(each);
    is_found = true;
  };
  for (int file = 0; file < files_; ++file) {
    const std::string path = path_of(file);
    if (!fs::exists(path)) continue;
    std::optional<FileLock> lock = lock_soon(path);
    const bool is_whole = lock && finish_last_commit(path).kind != LastCommit::Kind::not_finished;
    const bool has = is_whole && has_part(path, part);
    lock.reset();
    if (!has || !begin_turn(file).empty()) continue;
    note(file);
    place_of(file)->end_turn();
  }
  if (fs::exists(own_path(run_, folder_))) {
    open_own();
    note(kOwn);
  }
  if (!is_found) lost_before_ = loss_of_stored(host_.ledger(), run_.store);
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
      host_.warn(path_of(file) + why_not + ": this server writes into " + own_path(run_, folder_) +
                 " until it can");
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
    const int last = write([](Store& store) { store.close_file(true); });
    why = place_of(last)->lost_before();
    stores_.erase(last);
  } catch (const std::exception& e) {
    why = e.what();
    note_losses_beside(own_path(run_, folder_), losses_in(host_.ledger()));
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
