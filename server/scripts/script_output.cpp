// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/script_output.hpp"

#include <filesystem>

#include "lib/platform/folder.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/server_share.hpp"
#include "server/scripts/part_files.hpp"
#include "server/session/node_name.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

// A run that is just ending has its names still.
constexpr std::int64_t kWaitForNameNs = 2'000'000'000;

}  // namespace

// Each server has scripts of its own, and on a shared disk it needs a folder of its own.
ScriptOutput::ScriptOutput(const model::Model& model, const RunFacts& facts,
                           const std::string& folder)
    : session_(facts.session),
      resumed_(facts.resumed),
      is_named_(model.scripts.output != model.name + "-scripts") {
  std::string name = model.scripts.output;
  if (!facts.has_all_ranks() && !is_named_)
    name += "-" + numbered_node(platform::host_name(), facts.node_number);
  name = platform::name_of_server(name, facts.server);
  path_ = fs::absolute((fs::path(folder) / name).lexically_normal()).string();
}

// Pictures of an earlier run must not stand among those of this one. A folder that the user named
// may hold other things, and stays as it is. That of a run in progress is not touched.
void ScriptOutput::take(Log& log) {
  own_ = OwnName(path_, session_, resumed_, kWaitForNameNs);
  path_ = own_.path();
  if (!own_.why_another().empty()) log.warn("scripts: {}", own_.why_another());
  remove_dead_parts();
  std::error_code error;
  if (resumed_ || is_named_ || !fs::is_directory(path_, error)) return;
  std::string aside;
  int number = 1;
  do {
    aside = path_ + "." + std::to_string(number++);
  } while (fs::exists(aside, error));
  fs::rename(path_, aside, error);
  if (!error) log.info("{} was there already and is called {} now", path_, aside);
}

void ScriptOutput::remove_dead_parts() const { server::remove_dead_parts(path_); }

std::string ScriptOutput::append(const std::string& name, const std::string& text,
                                 const std::string& head) const {
  std::error_code error;
  fs::create_directories(path_, error);
  const platform::Folder folder(path_);
  return folder.append(name, folder.exists(name) ? text : head + text);
}

}  // namespace leat::server
