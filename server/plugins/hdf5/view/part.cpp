// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/part.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

std::vector<std::int32_t> ranks_in(const std::string& text) {
  std::vector<std::int32_t> ranks;
  std::istringstream all(text);
  for (std::string each; std::getline(all, each, ',');) ranks.push_back(std::atoi(each.c_str()));
  return ranks;
}

bool is_vtkhdf(hid_t file) {
  constexpr const char* kGroup = "VTKHDF";
  return is_in(file, kGroup) &&
         has_attribute(Id(H5Gopen2(file, kGroup, H5P_DEFAULT), "cannot open /VTKHDF"), "Type");
}

// `root`: the file, or a group of it.
Part part_in(const fs::path& path, const std::string& name, const std::string& group, Id root) {
  Part part;
  part.path = path;
  part.name = name;
  if (!group.empty()) part.root = group + "/";
  part.file = std::move(root);
  part.ranks = integer_attribute(part.file, "ranks", 0);
  part.first_rank = integer_attribute(part.file, kFirstRank, -1);
  part.node_ranks = integer_attribute(part.file, kNodeRanks, 0);
  part.started_ns = integer_attribute(part.file, kStarted, 0);
  part.succession = integer_attribute(part.file, kSuccession, 0);
  part.is_piece = has_attribute(part.file, kSplitText);
  part.shows_vtk = part.is_piece && is_vtkhdf(part.file);
  part.own_ranks = ranks_in(text_attribute(part.file, kOwnRanks, ""));
  part.iteration_name = table_of(part.file, "", "iteration");
  part.rows_name = scale_of_rows(part.file);
  part.complete_name = table_of(part.file, "", "iteration_complete");
  if (part.first_rank < 0 || part.iteration_name.empty())
    throw std::runtime_error("it is no part of a run on several nodes");
  // What rows are called, and whether they are whole, is there with the first one.
  if (part.complete_name.empty()) return part;
  part.iterations = integers_of(part.file, part.iteration_name);
  for (const std::int64_t flag : integers_of(part.file, part.complete_name))
    part.complete.push_back(flag != 0);
  part.complete.resize(part.iterations.size(), 0);
  return part;
}

void open_file_of_parts(const fs::path& path, std::vector<Part>* parts) {
  is_alive();
  Id file = open_plain(path, "HDF5 cannot open it");
  if (!is_shared(path)) {
    parts->push_back(part_in(path, path.stem(), "", std::move(file)));
    return;
  }
  const std::string stem = path.stem();
  for (const std::string& group : names_in(file, false)) {
    if (!begins_with(group, kPartBegin)) continue;
    Id root(H5Gopen2(file, group.c_str(), H5P_DEFAULT), "the part /" + group);
    parts->push_back(part_in(path, group, group, std::move(root)));
  }
}

// A server may have a part in several files.
void give_names(std::vector<Part>* parts) {
  std::set<std::string> taken;
  for (Part& part : *parts) {
    if (taken.insert(part.name).second) continue;
    part.name += "-" + fs::path(part.path).stem().string();
    taken.insert(part.name);
  }
}

// Newest first, as many as make up the ranks of the newest; a node whose file had to be begun anew
// has two.
void keep_one_run(std::vector<Part>* parts) {
  std::sort(parts->begin(), parts->end(),
            [](const Part& a, const Part& b) { return a.started_ns > b.started_ns; });
  std::set<std::int64_t> nodes;
  std::int64_t ranks = 0;
  std::vector<Part> kept;
  for (Part& part : *parts) {
    if (part.goes_on()) {
      kept.push_back(std::move(part));
      continue;
    }
    const bool is_known = nodes.count(part.first_rank) > 0;
    if (!is_known && ranks + part.node_ranks > parts->front().ranks) continue;
    if (!is_known) ranks += part.node_ranks;
    nodes.insert(part.first_rank);
    kept.push_back(std::move(part));
  }
  *parts = std::move(kept);
}

// Of the end of a run: another server may have what this one had at the end of the run before.
void keep_newest_row(std::vector<Part>* parts) {
  const auto run = described_run(part_with_rows(*parts).file);
  if (!run || !has_one_row(run->run())) return;
  std::int64_t newest = -1;
  for (const Part& part : *parts)
    if (!part.iterations.empty()) newest = std::max(newest, part.iterations.back());
  for (Part& part : *parts) {
    if (part.iterations.empty() || part.iterations.back() == newest) continue;
    part.iterations.clear();
    part.complete.clear();
  }
}

}  // namespace

std::optional<std::int64_t> losses_of(const Part& part) {
  if (has_attribute(part.file, "lost")) return integer_attribute(part.file, "lost", 0);
  // Of thousands of pieces only the last ones have something beside them.
  if (has_attribute(part.file, kFinished)) return std::nullopt;
  const fs::path file = part.path;
  const std::string server =
      is_shared(file) ? name_of_part(static_cast<int>(part.first_rank)) : server_of_part(file);
  return losses_beside(file.parent_path() / (server + ".h5"));
}

const Part& part_with_rows(const std::vector<Part>& parts) {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [](const Part& part) { return !part.iterations.empty(); });
  return found == parts.end() ? parts.front() : *found;
}

std::vector<Part> open_parts(const std::string& folder, std::vector<std::string>* left_out) {
  std::vector<Part> parts;
  if (left_out) left_out->clear();
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!is_part(entry.path())) continue;
    try {
      open_file_of_parts(entry.path(), &parts);
    } catch (const std::exception& e) {
      const std::string why = "the part " + entry.path().string() + " cannot be read: " + e.what();
      if (!left_out) throw std::runtime_error(why);
      left_out->push_back(why);
    }
  }
  if (parts.empty() && left_out && !left_out->empty()) throw std::runtime_error(left_out->front());
  if (parts.empty())
    throw std::runtime_error("the folder " + folder + " has no files of a run on several nodes");
  keep_one_run(&parts);
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::pair(a.first_rank, a.started_ns) < std::pair(b.first_rank, b.started_ns);
  });
  give_names(&parts);
  keep_newest_row(&parts);
  return parts;
}

namespace {

// A part before this one has the iteration, whole, of all of its ranks.
bool is_there_before(const std::vector<Part>& parts, const Part& part, std::int64_t iteration) {
  return std::any_of(parts.begin(), parts.end(), [&](const Part& before) {
    if (before.succession == 0 || before.succession >= part.succession) return false;
    if (!std::includes(before.own_ranks.begin(), before.own_ranks.end(), part.own_ranks.begin(),
                       part.own_ranks.end()))
      return false;
    const auto row =
        std::lower_bound(before.iterations.begin(), before.iterations.end(), iteration);
    return row != before.iterations.end() && *row == iteration &&
           before.complete[static_cast<std::size_t>(row - before.iterations.begin())];
  });
}

}  // namespace

std::set<std::int64_t> iterations_in_shared(const std::string& path) {
  std::vector<Part> parts;
  open_file_of_parts(path, &parts);
  std::set<std::int64_t> all;
  for (const Part& part : parts) all.insert(part.iterations.begin(), part.iterations.end());
  return all;
}

Rows::Rows(const std::vector<Part>& parts) {
  std::set<std::int64_t> all;
  for (const Part& part : parts) all.insert(part.iterations.begin(), part.iterations.end());
  numbers_.assign(all.begin(), all.end());
  std::vector<std::int64_t> ranks(numbers_.size(), 0);      // that have stored the row as a whole
  std::vector<std::int64_t> all_ranks(numbers_.size(), 0);  // of the run that has stored it
  std::set<std::pair<std::int64_t, std::int64_t>> stored;   // by first rank, iteration
  for (const Part& part : parts) {
    in_part_.emplace_back(numbers_.size(), -1);
    of_part_.emplace_back();
    for (std::size_t row = 0; row < part.iterations.size(); ++row) {
      const auto at = std::lower_bound(numbers_.begin(), numbers_.end(), part.iterations[row]);
      const auto to = static_cast<std::size_t>(at - numbers_.begin());
      const bool is_again = part.goes_on()
                                ? is_there_before(parts, part, part.iterations[row])
                                : !stored.insert({part.first_rank, part.iterations[row]}).second;
      of_part_.back().push_back(is_again ? -1 : static_cast<std::int64_t>(to));
      if (is_again) continue;
      in_part_.back()[to] = static_cast<std::int64_t>(row);
      all_ranks[to] = std::max(all_ranks[to], part.ranks);
      if (part.complete[row]) ranks[to] += part.node_ranks;
    }
  }
  for (std::size_t row = 0; row < ranks.size(); ++row)
    complete_.push_back(ranks[row] >= all_ranks[row]);
}

std::vector<RowRun> Rows::runs(std::size_t part, hsize_t from, hsize_t upto,
                               const std::vector<std::uint8_t>& written) const {
  std::vector<RowRun> runs;
  upto = std::min<hsize_t>(upto, of_part_[part].size());
  for (hsize_t row = from; row < upto; ++row) {
    if (of_part_[part][row] < 0) continue;
    if (!written.empty() && (row >= written.size() || !written[row])) continue;
    const auto to = static_cast<hsize_t>(of_part_[part][row]);
    RowRun* last = runs.empty() ? nullptr : &runs.back();
    const bool is_next = last && row == last->from + last->count;
    if (is_next && last->count == 1 && to > last->to) last->step = to - last->to;
    if (is_next && to == last->to + last->count * last->step) {
      ++last->count;
    } else {
      runs.push_back({row, to, 1, 1});
    }
  }
  return runs;
}

}  // namespace leat::hdf5
