// SPDX-License-Identifier: Apache-2.0
// What `leat ls` says of the checkpoints in a folder, and in those in it: by their names and indices, as a run that goes on finds them.
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/checkpoint/checkpoints.hpp"
#include "server/cli/ls_files.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli {
namespace {

namespace fs = std::filesystem;
using checkpoint::Key;

// All files of one, those that are being written too.
struct OnDisk {
  std::uint64_t bytes = 0;
  std::time_t written = 0;
};

std::map<Key, OnDisk> on_disk(const std::string& folder) {
  std::map<Key, OnDisk> all;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const auto name = checkpoint::name_in(entry->path().filename().string());
    struct stat facts {};
    if (!name || stat(entry->path().c_str(), &facts) != 0) continue;
    OnDisk& to = all[name->name.key];
    to.bytes += static_cast<std::uint64_t>(facts.st_size);
    to.written = std::max(to.written, facts.st_mtime);
  }
  return all;
}

Json facts_of(const std::string& folder, const Key& key, const OnDisk& disk) {
  return {{"folder", folder},
          {"iteration", key.iteration},
          {"generation", key.generation},
          {"whole", false},
          {"goes_on", false},
          {"problem", "it is being written, or its writer was killed"},
          {"simulation", nullptr},
          {"session", nullptr},
          {"ranks", nullptr},
          {"parts", 0},
          {"bytes", disk.bytes},
          {"written", json_of_time(disk.written)}};
}

void look_into(const checkpoint::Checkpoint& one, Json* facts) {
  checkpoint::Index first;
  const std::string why = checkpoint::why_not_whole(one, &first);
  (*facts)["whole"] = why.empty();
  (*facts)["problem"] = why;
  (*facts)["parts"] = one.parts.size();
  if (first.session.empty()) return;
  (*facts)["simulation"] = first.simulation;
  (*facts)["session"] = first.session;
  (*facts)["ranks"] = first.ranks;
}

// The newest first; a run goes on from the first whole one.
void add_checkpoints(const std::string& folder, Json* to) {
  const std::map<Key, OnDisk> disk = on_disk(folder);
  if (disk.empty()) return;
  std::map<Key, checkpoint::Checkpoint> indexed;
  for (checkpoint::Checkpoint& each : checkpoint::checkpoints_in({folder})) {
    const Key key = each.key;
    indexed.emplace(key, std::move(each));
  }
  bool is_newest = true;
  for (auto each = disk.rbegin(); each != disk.rend(); ++each) {
    Json facts = facts_of(folder, each->first, each->second);
    if (const auto found = indexed.find(each->first); found != indexed.end())
      look_into(found->second, &facts);
    facts["goes_on"] = facts["whole"] && is_newest;
    is_newest = is_newest && !facts["whole"];
    to->push_back(std::move(facts));
  }
}

}  // namespace

Json checkpoints_below(const std::string& folder) {
  Json all = Json::array();
  add_checkpoints(folder, &all);
  for (const std::string& inside : folders_in(folder)) add_checkpoints(inside, &all);
  return all;
}

}  // namespace leat::cli
