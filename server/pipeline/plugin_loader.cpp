// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/plugin_loader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "lib/platform/file_facts.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/shared_library.hpp"
#include "server/pipeline/event_function.hpp"

namespace leat::server {
namespace {

constexpr const char* kEntry = "leat_plugin_entry";
constexpr std::size_t kSmallest = offsetof(leat_plugin, close) + sizeof(leat_plugin::close);

struct Peeked {
  std::uint32_t abi = 0;
  std::uint32_t size = 0;
};

Error refused(const std::string& path, const std::string& why) {
  return {Status::ERROR_CONFIG, "the plugin \"" + path + "\" cannot be used: " + why};
}

Result<Peeked> peek(const std::string& path) {
  Peeked words;
  const Result<void> read = platform::peek_exported(path, kEntry, &words, sizeof words);
  if (!read) return read.error();
  if (words.abi != LEAT_PLUGIN_ABI) {
    return refused(path, "it was built for plugin ABI " + std::to_string(words.abi) +
                             ", and this Leat " + LEAT_VERSION + " has ABI " +
                             std::to_string(LEAT_PLUGIN_ABI) +
                             "; compile it again with this Leat's plugin.h");
  }
  if (words.size < kSmallest) {
    return refused(path, "its entry has " + std::to_string(words.size) + " bytes, fewer than the " +
                             std::to_string(kSmallest) + " of ABI " +
                             std::to_string(LEAT_PLUGIN_ABI));
  }
  return words;
}

}  // namespace

Result<std::string> find_builtin(const std::string& type) {
  namespace fs = std::filesystem;
  std::string tried;
  for (const char* lib : {"lib", LEAT_INSTALL_LIBDIR}) {
    const std::string path =
        platform::path_beside_program(fs::path("..") / lib / "leat" / "plugins" / (type + ".so"));
    if (fs::exists(path)) return path;
    if (tried.find(path) == std::string::npos) tried += (tried.empty() ? "" : ", ") + path;
  }
  return Error{Status::ERROR_CONFIG, "the plugin of type \"" + type +
                                         "\" is not where this Leat is installed: tried " + tried};
}

Result<LoadedPlugin> load_own_plugin(const std::string& path) {
  const std::string why = platform::why_unsafe_to_run(path);
  if (!why.empty()) return refused(path, why);
  return load_plugin(path);
}

Result<LoadedPlugin> load_plugin(const std::string& path) {
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  const Result<Peeked> words = peek(file);
  if (!words) return words.error();
  const Result<const void*> entry = platform::load_symbol(file, kEntry);
  if (!entry) return entry.error();
  leat_plugin plugin{};
  std::memcpy(&plugin, *entry, std::min<std::size_t>(words->size, sizeof plugin));
  if (!plugin.name || !plugin.open || !plugin.iteration || !plugin.close) {
    return refused(path, "its entry has no name, or lacks one of open, iteration and close");
  }
  if (!plugin.begin != !plugin.chunk || !plugin.begin != !plugin.finish)
    return refused(path, "its entry has one of begin, chunk and finish, and lacks another");
  return LoadedPlugin(plugin);
}

Result<LoadedPlugin> load_plugin_of(const model::Store& store) {
  if (!store.function.empty()) return load_event_function(store.library, store.function);
  if (!store.library.empty()) return load_own_plugin(store.library);
  const Result<std::string> path = find_builtin(store.type);
  if (!path) return path.error();
  return load_plugin(*path);
}

}  // namespace leat::server
