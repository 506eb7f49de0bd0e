// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/earlier_parts.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/disk/file_lock.hpp"
#include "server/plugins/hdf5/output/h5_file.hpp"
#include "server/plugins/hdf5/view/make_view.hpp"
#include "server/plugins/hdf5/view/part.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kTries =
    5;  // a part that another server is just writing may be unreadable for a moment
constexpr std::chrono::milliseconds kPauseForWriter(100), kPauseForOthers(20);
constexpr std::chrono::seconds kLimitForOthers(10);
constexpr std::chrono::minutes kRecent(10);  // within which servers of one run come
constexpr const char* kYes = "yes";
constexpr const char* kSaid = ".append-";
constexpr std::size_t kMostSaid = 8;

fs::path canonical_folder(const fs::path& path) {
  return fs::weakly_canonical(path).lexically_normal();
}

fs::path folder_of(const fs::path& file) {
  return file.parent_path().empty() ? fs::path(".") : file.parent_path();
}

// When something was written to it last; the earliest time for a folder without parts.
fs::file_time_type newest_part(const fs::path& folder) {
  fs::file_time_type newest = fs::file_time_type::min();
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code gone;
    if (is_part(entry.path())) newest = std::max(newest, fs::last_write_time(entry.path(), gone));
  }
  return newest;
}

std::set<fs::path> shown_by_views(const fs::path& view) {
  std::set<fs::path> shown;
  for (const auto& entry : fs::directory_iterator(folder_of(view))) {
    const fs::path name = entry.path().filename();
    if (name.extension() != view.extension() || name.string()[0] == '.') continue;
    if (const std::string parts = parts_of_view(entry.path()); !parts.empty())
      shown.insert(canonical_folder(parts));
  }
  return shown;
}

std::vector<Part> opened(const std::string& folder) {
  for (int tries = 1; tries < kTries; ++tries) {
    try {
      return open_parts(folder);
    } catch (const std::exception&) {
      std::this_thread::sleep_for(kPauseForWriter);
    }
  }
  return open_parts(folder);
}

std::vector<std::int32_t> own_ranks_of(const leat_run& run) {
  const std::int32_t* const own = leat_run_own_ranks(&run);
  return own ? std::vector<std::int32_t>(own, own + run.node_ranks) : std::vector<std::int32_t>();
}

std::string server_name(const Part& part) {
  return name_of_part(static_cast<int>(part.first_rank));
}

// "rank000000 of 4 ranks, rank000004 of 2"
std::string servers_in_words(const std::map<std::int64_t, const Part*>& servers) {
  std::string text;
  std::size_t named = 0;
  for (const auto& [first, part] : servers) {
    if (++named > kMostSaid) return text + ", ...";
    text += (text.empty() ? "" : ", ") + server_name(*part) + " of " +
            std::to_string(part->node_ranks) + (text.empty() ? " ranks" : "");
  }
  return text;
}

bool is_like(const Part& part, const leat_run& run) {
  const std::vector<std::int32_t> own = own_ranks_of(run);
  const bool knows_both = !own.empty() && !part.own_ranks.empty();
  return part.node_ranks == run.node_ranks && (!knows_both || part.own_ranks == own);
}

std::string why_other_servers(const leat_run& run,
                              const std::map<std::int64_t, const Part*>& servers) {
  std::int64_t there = 0;
  const std::int64_t ranks = servers.begin()->second->ranks;
  const Part& first = *servers.begin()->second;
  const bool is_of_one = first.is_piece && first.node_ranks == ranks && servers.size() == 1;
  if (is_of_one && run.node_ranks == run.ranks) return "";  // ranks may be more or fewer then
  for (const auto& [first, part] : servers) there += part->node_ranks;
  if (there < ranks)
    return "the parts of " + std::to_string(ranks - there) + " of its " + std::to_string(ranks) +
           " ranks are missing: there are " + servers_in_words(servers);
  const auto mine = servers.find(leat_run_first_rank(&run));
  if (ranks == run.ranks && mine != servers.end() && is_like(*mine->second, run)) return "";
  return "its parts are " + servers_in_words(servers) +
         ", and this run has a server whose ranks, " + std::to_string(run.node_ranks) + " of " +
         std::to_string(run.ranks) + " from rank " + std::to_string(leat_run_first_rank(&run)) +
         " on, are not those of one of them";
}

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;  // iterators would throw where it cannot be read
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string folder_to_append(const leat_run& run, const std::string& view) {
  if (fs::exists(fs::symlink_status(view))) {
    const std::string folder = parts_of_view(view);
    if (folder.empty())
      throw std::runtime_error(refusal_of_parts(
          view, is_in_pieces(run)
                    ? "it is one file, and this run has split=\"...\""
                    : "it is no view of a run with several servers, and this run has several"));
    if (!fs::is_directory(folder))
      throw std::runtime_error(
          refusal_of_parts(view, "the folder of its parts, " + folder + ", is not there"));
    return folder;
  }
  const fs::path own = folder_of_parts(view, run.session), all = own.parent_path();
  const auto has_parts = [](const fs::path& folder) {
    return fs::is_directory(folder) && newest_part(folder) > fs::file_time_type::min();
  };
  if (has_parts(own)) return own;
  if (!fs::is_directory(all)) return "";
  const std::set<fs::path> shown = shown_by_views(view);
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(all)) {
    if (!has_parts(entry.path()) || shown.count(canonical_folder(entry.path())) > 0) continue;
    if (newest.empty() || newest_part(entry.path()) > newest_part(newest)) newest = entry.path();
  }
  return newest;
}

// Of an earlier run of the same session name none is, since its servers are gone.
bool is_just_begun(const leat_run& run, const std::string& folder) {
  be_quiet();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t recent =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now - kRecent).count();
  for (const Part& part : opened(folder)) {
    const std::string said = "." + server_name(part) + kSaid + run.session;
    if (run_in(part.file).session != run.session || fs::exists(fs::path(folder) / said))
      return false;
    if (!FileLock::is_taken(part.path) && part.started_ns < recent) return false;
  }
  return true;
}

namespace {

// Why the parts in `folder` are none that the run can go on in; "" : it can.
std::string why_no_earlier(const leat_run& run, const std::string& folder) {
  be_quiet();
  try {
    const std::vector<Part> parts = opened(folder);
    std::map<std::int64_t, const Part*> servers;
    for (const Part& part : parts) {
      if (is_shared(part.path)) return "its servers have written files together (files=)";
      if (part.is_piece != is_in_pieces(run))
        return part.is_piece ? "its files are in pieces (split), and this run has no split"
                             : "its files are not in pieces, and this run has split=\"...\"";
      if (part.goes_on())
        return "in " + part.name + " a server has gone on with ranks of another one";
      servers.emplace(part.first_rank, &part);
    }
    return why_other_servers(run, servers);
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

std::string refusal_of_parts(const std::string& view, const std::string& why) {
  return "cannot append to " + view + ", nothing of which is changed: " + why +
         ". A run goes on in the output of one with as many servers, each with the ranks that it "
         "had, and "
         "with split as that; start it so, or take append=\"true\" away: then a new output is "
         "begun";
}

std::string missing_before(const leat_run& run, const std::string& folder, std::int64_t first) {
  std::set<std::int64_t> own, others;
  for (const Part& part : opened(folder)) {
    auto& to = part.first_rank == leat_run_first_rank(&run) ? own : others;
    for (const std::int64_t each : part.iterations)
      if (each < first) to.insert(each);
  }
  std::vector<std::int64_t> missing;
  std::set_difference(others.begin(), others.end(), own.begin(), own.end(),
                      std::back_inserter(missing));
  std::string text;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (i == kMostSaid) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(missing[i]);
  }
  return text;
}

AppendAgreement::AppendAgreement(const leat_run& run, const std::string& folder)
    : run_(run), folder_(folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!is_part(entry.path())) continue;
    try {
      std::int64_t& before = before_[server_of_part(entry.path())];
      before = std::max(before, run_in(open_plain(entry.path(), "cannot open it")).number);
    } catch (const std::exception&) {
      before_.try_emplace(server_of_part(entry.path()), 0);  // said where it is looked into
    }
  }
}

std::string AppendAgreement::file_of(const std::string& part) const {
  return fs::path(folder_) / ("." + part + kSaid + run_.session);
}

// Who can go on has its part for itself: what servers of other sessions have said here, they have said before.
void AppendAgreement::say(const std::string& why_not) const {
  if (why_not.empty()) forget_others();
  write(why_not.empty() ? kYes : why_not);
}

void AppendAgreement::write(const std::string& text) const {
  const fs::path file = file_of(name_of_part(run_)), fresh = file.string() + ".new";
  std::ofstream(fresh) << text;
  fs::rename(fresh, file);
}

void AppendAgreement::forget_others() const {
  const std::string own = std::string(kSaid) + run_.session;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const std::size_t said = name[0] == '.' ? name.find(kSaid) : std::string::npos;
    if (said != std::string::npos && name.compare(said, own.size(), own) != 0)
      old.push_back(entry.path());
  }
  std::error_code gone;
  for (const fs::path& each : old) fs::remove(each, gone);
}

void AppendAgreement::remove() const {
  std::error_code gone;
  fs::remove(file_of(name_of_part(run_)), gone);
}

bool AppendAgreement::is_standing() const {
  bool is_refused = false;
  try {
    return text_of_file(file_of(name_of_part(run_))) == kYes && why_not_yet(&is_refused).empty();
  } catch (const std::exception&) {
    return false;  // somebody is at work there
  }
}

// It has said what it had found then, and has closed its part since, maybe.
bool AppendAgreement::has_begun(const std::string& part) const {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (!is_part(entry.path()) || server_of_part(entry.path()) != part) continue;
    const RunName writer = run_in(open_plain(entry.path(), "cannot open " + entry.path().string()));
    if (writer.session == run_.session &&
        (leat_run_is_resumed(&run_) || writer.number != before_.at(part)))
      return true;
  }
  return false;
}

// "" when all have said that they can.
std::string AppendAgreement::why_not_yet(bool* is_refused) const {
  const fs::path own = file_of(name_of_part(run_));
  const std::string end = own.filename().string().substr(name_of_part(run_).size() + 1);
  const fs::file_time_type now = fs::last_write_time(own);
  std::map<std::string, std::string> said;  // by part
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    const std::size_t begin = name.size() - std::min(name.size(), end.size());
    if (name[0] != '.' || name.substr(begin) != end) continue;
    // Older ones are of a run of the same session name.
    if (fs::last_write_time(entry.path()) < now - kRecent) continue;
    const std::string text = text_of_file(entry.path());
    if (!text.empty()) said[name.substr(1, begin - 1)] = text;
  }
  for (const auto& [part, text] : said) {
    *is_refused = text != kYes;
    if (*is_refused) return "the server of " + part + " cannot go on: " + text;
  }
  for (const auto& [part, number] : before_) {
    if (said.count(part) == 0 && !has_begun(part))
      return "no server of this run has said so far that it goes on in " + part + ".h5";
  }
  return "";
}

void AppendAgreement::expect() {
  const Clock::time_point end = Clock::now() + (has_waited_ ? Clock::duration(0) : kLimitForOthers);
  has_waited_ = true;
  for (std::chrono::milliseconds pause = kPauseForOthers;;
       pause = std::min(2 * pause, 10 * kPauseForWriter)) {
    std::string why;
    bool is_refused = false;
    try {
      why = why_not_yet(&is_refused);
    } catch (const std::exception& e) {
      why = e.what();  // of what is just being written
    }
    if (why.empty()) return;
    if (is_refused || Clock::now() >= end)
      throw std::runtime_error("nothing of this output is changed: " + why);
    std::this_thread::sleep_for(pause);
  }
}

bool may_take_earlier(const leat_run& run, const std::string& folder) {
  return !leat_run_is_drained(&run) || AppendAgreement(run, folder).is_standing();
}

void take_if_all_can(const leat_run& run, const std::string& folder, const std::string& view,
                     const std::function<void()>& take) {
  if (leat_run_is_drained(&run)) return take();
  const AppendAgreement agreement(run, folder);
  agreement.look();
  try {
    if (const std::string why_not = why_no_earlier(run, folder); !why_not.empty())
      throw std::runtime_error(refusal_of_parts(view, why_not));
    take();
  } catch (const std::exception& e) {
    agreement.say(e.what());
    throw;
  }
}

}  // namespace leat::hdf5
