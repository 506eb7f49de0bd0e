// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/damaris_names.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/output/h5_file.hpp"
#include "server/plugins/hdf5/output/old_output.hpp"
#include "server/plugins/hdf5/output/options.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

std::string without_extension(const fs::path& path) {
  return path.extension() == ".h5" ? (path.parent_path() / path.stem()).string() : path.string();
}

std::string ending_of(const leat_run& run, FileMode mode) {
  if (mode == FileMode::collective) return ".h5";
  const std::int32_t server = is_one_of_several_nodes(run) ? leat_run_first_rank(&run) : 0;
  return "_Pr" + std::to_string(server) + ".h5";
}

// Those called <begin><number><ending>.
std::vector<fs::path> files_like(const std::string& begin, const std::string& ending) {
  const fs::path folder = fs::path(begin).parent_path();
  const std::string first = fs::path(begin).filename().string();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(first) || !name.ends_with(ending)) continue;
    if (name.size() <= first.size() + ending.size()) continue;
    const std::string number =
        name.substr(first.size(), name.size() - first.size() - ending.size());
    if (number.find_first_not_of("0123456789") == std::string::npos) files.push_back(folder / name);
  }
  return files;
}

// The first of <base>.1, .2, ... that has none of them: servers of other nodes put theirs there too.
fs::path folder_without(const std::string& base, const std::vector<fs::path>& files) {
  for (int number = 1;; ++number) {
    fs::path folder = base + "." + std::to_string(number);
    const auto is_there = [&](const fs::path& file) {
      return fs::symlink_status(folder / file.filename()).type() != fs::file_type::not_found;
    };
    if (std::none_of(files.begin(), files.end(), is_there)) return folder;
  }
}

}  // namespace

DamarisNames::DamarisNames(const leat_run& run, const Host& host, FileMode mode)
    : run_(run),
      host_(host),
      ending_(ending_of(run, mode)),
      exists_(option(run.options, run.option_count, "exists", "keep")) {
  const fs::path wanted = wanted_path(run);
  base_ = without_extension(wanted);
  base_of_session_ = without_extension(of_session(wanted, run));
  lock();
  // What is there when all ranks are dead may be of a later run.
  if (!leat_run_is_drained(&run)) set_old_aside();
}

std::vector<fs::path> DamarisNames::others() const {
  std::vector<fs::path> files = files_like(base_ + "_It", ending_);
  if (leat_run_is_resumed(&run_))
    std::erase_if(files, [this](const fs::path& file) { return is_own(file); });
  return files;
}

// A server that was killed may have done half of it.
void DamarisNames::set_old_aside() const {
  const std::vector<fs::path> old = others();
  if (old.empty()) return;
  if (exists_ == "replace") {
    for (const fs::path& file : old) fs::remove(file);
    return;
  }
  const fs::path folder = folder_without(base_, old);
  fs::create_directories(folder);
  for (const fs::path& file : old) fs::rename(file, folder / file.filename());
  host_.info(of_all() + " were there already, " + std::to_string(old.size()) +
             " files, and are in " + folder.string() + " now");
}

// A server that is just dying may still have it.
void DamarisNames::lock() {
  const std::string place = base_ + "_It" + ending_;
  const bool is_late = leat_run_is_drained(&run_) && !others().empty();
  if (!is_late) lock_ = leat_run_is_resumed(&run_) ? lock_soon(place) : FileLock::take(place);
  if (lock_) return;
  host_.warn(of_all() + " are " + (is_late ? "those of" : "being written by") + " another run" +
             (is_late ? "" : FileLock::holder(place)) + "; this run writes " + base_of_session_ +
             "_It*" + ending_);
  base_ = base_of_session_;
  lock_ = FileLock::take(base_ + "_It" + ending_);
  if (!lock_)
    throw std::runtime_error(of_all() +
                             " are being written by others: give each store its own file=\"...\"");
}

std::string DamarisNames::name(const std::string& base, std::int64_t iteration) const {
  return base + "_It" + std::to_string(iteration) + ending_;
}

bool DamarisNames::is_own(const std::string& path) const {
  if (!fs::is_regular_file(fs::symlink_status(path))) return false;
  try {
    const RunName writer = run_of(path);
    return writer.session == run_.session && writer.number == leat_run_number(&run_);
  } catch (const std::exception&) {
    return false;
  }
}

// The one that died may have had the other name, or a later run has set its files aside.
bool DamarisNames::is_stored(std::int64_t iteration) const {
  if (!leat_run_is_resumed(&run_)) return false;
  for (const std::string& base : {without_extension(wanted_path(run_)), base_of_session_}) {
    const fs::path file = name(base, iteration);
    if (is_own(file)) return true;
    fs::path folder = base + ".1";
    for (int number = 1; fs::exists(folder); folder = base + "." + std::to_string(++number))
      if (is_own(folder / file.filename())) return true;
  }
  return false;
}

std::vector<std::string> DamarisNames::stored() const {
  std::vector<std::string> own;
  for (const fs::path& file : files_like(base_ + "_It", ending_)) {
    if (is_own(file)) own.push_back(file);
  }
  std::sort(own.begin(), own.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a > b;
  });
  return own;
}

std::string DamarisNames::make_room_for(std::int64_t iteration) const {
  const std::string path = of(iteration);
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder);
  make_room(path, exists_, host_);
  return path;
}

}  // namespace leat::hdf5
