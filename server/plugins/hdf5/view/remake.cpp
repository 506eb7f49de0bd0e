// SPDX-License-Identifier: Apache-2.0
// Makes the view of a run anew, outside of it: `leat view`.
#include "server/plugins/hdf5/view/make_view.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/disk/file_lock.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr int kTries = 5;
constexpr std::chrono::milliseconds kPause(100);

std::vector<fs::path> parts_in(const fs::path& folder) {
  std::vector<fs::path> parts;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && is_part(entry.path())) parts.push_back(entry.path());
  }
  return parts;
}

// The folder itself, or the only one in it.
fs::path folder_with_parts(const fs::path& folder) {
  if (!parts_in(folder).empty()) return folder;
  std::vector<fs::path> inside;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && !parts_in(entry.path()).empty()) inside.push_back(entry.path());
  }
  if (inside.size() == 1) return inside.front();
  std::string names;
  for (const fs::path& one : inside) names += "\n  " + one.string();
  throw std::runtime_error(
      inside.empty()
          ? folder.string() + " has no files of a run on several nodes, rank*.h5 or shared*.h5"
          : folder.string() + " has the parts of several runs; name one:" + names);
}

std::string name_in(const fs::path& part) {
  const Id file = open_plain(part, part.string() + " cannot be read");
  if (!has_attribute(file, kViewName))
    throw std::runtime_error(part.string() + " is no part of a run on several nodes");
  return text_attribute(file, kViewName);
}

// What makers of the view were killed over. Who makes one meanwhile fails, and does it again.
void remove_unfinished(const fs::path& view) {
  const std::string begin = "." + view.filename().string() + "." + kPartBegin;
  const fs::path folder = fs::absolute(view).parent_path();
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code gone;
    if (entry.path().filename().string().rfind(begin, 0) == 0) fs::remove(entry.path(), gone);
  }
}

// As the first says it that can be read.
std::string name_of_view(const std::vector<fs::path>& parts) {
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    try {
      return name_in(parts[i]);
    } catch (const std::exception&) {
      continue;
    }
  }
  return name_in(parts.back());
}

bool is_same(const fs::path& a, const fs::path& b) {
  return fs::weakly_canonical(a).lexically_normal() == fs::weakly_canonical(b).lexically_normal();
}

}  // namespace

ViewPlace view_place(const std::string& target, const std::string& output) {
  be_quiet();
  if (!fs::exists(target)) throw std::runtime_error(target + " does not exist");
  ViewPlace place;
  if (fs::is_directory(target)) {
    place.folder = folder_with_parts(fs::path(target).lexically_normal());
  } else {
    place.folder = parts_of_view(target);
    if (place.folder.empty())
      throw std::runtime_error(
          target + " is no view of a run on several nodes: name one, or the folder of its parts");
    if (!fs::is_directory(place.folder))
      throw std::runtime_error("the folder of its parts, " + place.folder +
                               ", is not there: " + target + " and that folder belong together");
  }
  place.path = output;
  if (!output.empty()) return place;
  if (!fs::is_directory(target)) {
    place.path = target;
    return place;
  }
  const std::vector<fs::path> parts = parts_in(place.folder);
  const fs::path beside = fs::absolute(place.folder).lexically_normal().parent_path().parent_path();
  place.path = (beside / name_of_view(parts)).lexically_proximate(fs::current_path());
  const std::string shown = parts_of_view(place.path);
  if (fs::exists(place.path) && (shown.empty() || !is_same(shown, place.folder)))
    throw std::runtime_error(
        place.path +
        " is there and shows something else: say where the view is to be with --output");
  return place;
}

ViewFacts make_when_readable(const ViewPlace& place) {
  for (int tries = 1; tries < kTries; ++tries) {
    try {
      return make_last_view(place.folder, place.path, "view");
    } catch (const std::exception&) {
      std::this_thread::sleep_for(kPause);
    }
  }
  return make_last_view(place.folder, place.path, "view", Unreadable::left_out);
}

RemadeView remake_view(const ViewPlace& place) {
  RemadeView made;
  bool is_at_work = false;
  for (const fs::path& part : parts_in(place.folder)) {
    const std::optional<FileLock> lock = FileLock::take(part.string());
    const LastCommit commit = lock ? finish_last_commit(part) : LastCommit{};
    if (commit.was_finished()) ++made.finished;
    if (commit.kind == LastCommit::Kind::not_finished) made.not_finished.emplace_back(part, commit);
    is_at_work = is_at_work || !lock;
  }
  // What a server is just writing may be unreadable for a moment; what stays so is damaged.
  made.facts = make_when_readable(place);
  if (!is_at_work) remove_unfinished(place.path);
  return made;
}

std::string described(const std::string& path, const ViewFacts& facts) {
  const auto count = [](std::uint64_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  std::string text = path + ": " + count(facts.parts, "part") +
                     (facts.files < facts.parts ? " in " + count(facts.files, "file") : "") + ", " +
                     count(facts.iterations, "iteration");
  const std::int64_t missing = facts.ranks - facts.ranks_in_parts;
  if (missing > 0)
    text += "; the parts of " + std::to_string(missing) + " of its " + std::to_string(facts.ranks) +
            " ranks are missing";
  for (const std::string& why : facts.left_out) text += "\n  left out: " + why;
  for (const std::string& why : facts.not_shown) text += "\n  left out: " + why;
  return text;
}

}  // namespace leat::hdf5
