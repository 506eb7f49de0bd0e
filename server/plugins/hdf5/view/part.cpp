// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/part.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "server/plugins/hdf5/base/attributes.hpp"
#include "server/plugins/hdf5/base/plain_file.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

bool is_variable(hid_t file, const std::string& name) {
  return check(H5Aexists_by_name(file, name.c_str(), "leat_layout", H5P_DEFAULT), name) > 0;
}

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
  const std::string complete = table_of(part.file, "", "iteration_complete");
  if (part.first_rank < 0 || part.iteration_name.empty() || complete.empty())
    throw std::runtime_error("it is no part of a run on several nodes");
  part.iterations = integers_of(part.file, part.iteration_name);
  for (const std::int64_t flag : integers_of(part.file, complete))
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

std::vector<std::int64_t> integers_of(hid_t file, const std::string& name, Shape* extents) {
  const std::string what = "cannot read " + name;
  const Id dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), what);
  const Shape shape = extents_of(dataset);
  std::vector<std::int64_t> all(product(shape));
  if (!all.empty())
    check(H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()), what);
  // It may have grown between the two.
  if (extents) *extents = shape;
  return all;
}

std::string table_of(hid_t file, const std::string& variable, const std::string& suffix) {
  std::string name = variable + suffix;
  for (int tries = 0; tries < 8; ++tries, name += "_") {
    if (is_dataset(file, name) && !is_variable(file, name)) return name;
  }
  return "";
}

// What has no coordinate but that of its rows.
std::string coordinate_of_rows(hid_t file) {
  const std::string name = table_of(file, "", "iteration_complete");
  const Id dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), "cannot open " + name);
  const bool has_some = check(H5Aexists(dataset, "coordinates"), name) > 0;
  return has_some ? text_attribute(dataset, "coordinates") : "";
}

}  // namespace leat::hdf5
