// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/part_attributes.hpp"

#include <chrono>
#include <filesystem>

#include "server/plugins/hdf5/base/attributes.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"

namespace leat::hdf5 {

void describe_part(hid_t file, const leat_run& run, const std::string& view) {
  using namespace std::chrono;
  const auto now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch());
  set_attribute(file, kFirstRank, std::int64_t{leat_run_first_rank(&run)});
  set_attribute(file, kNodeRanks, std::int64_t{run.node_ranks});
  set_attribute(file, kStarted, std::int64_t{now.count()});
  set_attribute(file, kViewName, std::filesystem::path(view).filename().string());
}

}  // namespace leat::hdf5
