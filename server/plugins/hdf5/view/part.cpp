// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/part.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/conventions/losses_beside.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/stored_tables.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

Part open_part(const fs::path& path) {
  const std::string what = "HDF5 cannot open it";
  is_alive();
  Part part;
  part.path = path;
  part.name = path.stem();
  part.file = open_plain(path, what);
  part.ranks = integer_attribute(part.file, "ranks", 0);
  part.first_rank = integer_attribute(part.file, kFirstRank, -1);
  part.node_ranks = integer_attribute(part.file, kNodeRanks, 0);
  part.started_ns = integer_attribute(part.file, kStarted, 0);
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

// Newest first, as many as make up the ranks of the newest; a node whose file had to be begun anew
// has two.
void keep_one_run(std::vector<Part>* parts) {
  std::sort(parts->begin(), parts->end(),
            [](const Part& a, const Part& b) { return a.started_ns > b.started_ns; });
  std::set<std::int64_t> nodes;
  std::int64_t ranks = 0;
  std::vector<Part> kept;
  for (Part& part : *parts) {
    const bool is_known = nodes.count(part.first_rank) > 0;
    if (!is_known && ranks + part.node_ranks > parts->front().ranks) continue;
    if (!is_known) ranks += part.node_ranks;
    nodes.insert(part.first_rank);
    kept.push_back(std::move(part));
  }
  *parts = std::move(kept);
}

}  // namespace

std::optional<std::int64_t> losses_of(const Part& part) {
  if (has_attribute(part.file, "lost")) return integer_attribute(part.file, "lost", 0);
  return losses_beside(part.path);
}

const Part& part_with_rows(const std::vector<Part>& parts) {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [](const Part& part) { return !part.complete_name.empty(); });
  return found == parts.end() ? parts.front() : *found;
}

std::vector<Part> open_parts(const std::string& folder, std::vector<std::string>* left_out) {
  std::vector<Part> parts;
  if (left_out) left_out->clear();
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!is_part(entry.path())) continue;
    try {
      parts.push_back(open_part(entry.path()));
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
  return parts;
}

}  // namespace leat::hdf5
