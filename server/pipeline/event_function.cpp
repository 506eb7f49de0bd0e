// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/event_function.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>

#include "lib/platform/file_facts.hpp"
#include "lib/platform/shared_library.hpp"

namespace leat::server {
namespace {

using EventFunction = void (*)(const char* event, std::int32_t source, std::int32_t iteration,
                               const char* args);

// The function is its state from the start, and it needs nothing of the run.
int open_function(const leat_run*, const leat_host*, void**) noexcept { return 0; }

int take_no_iteration(void*, const leat_iteration_data*) noexcept { return 0; }

int close_function(void*) noexcept { return 0; }

int call_function(void* state, const char* event, std::int32_t rank, std::int64_t iteration,
                  const char* args) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  reinterpret_cast<EventFunction>(state)(
      event, rank, static_cast<std::int32_t>(std::min(iteration, kMost)), args);
  return 0;
}

std::string path_of(const std::string& library) {
  namespace fs = std::filesystem;
  if (library.find('/') != std::string::npos) return library;
  const std::string here = "./" + library;
  const char* const folders = std::getenv("LD_LIBRARY_PATH");
  if (fs::exists(here) || !folders) return here;
  std::istringstream all(folders);
  for (std::string folder; std::getline(all, folder, ':');) {
    if (!folder.empty() && fs::exists(fs::path(folder) / library))
      return fs::path(folder) / library;
  }
  return here;
}

constexpr leat_plugin kFunctionPlugin = {LEAT_PLUGIN_ABI,   sizeof(leat_plugin),
                                         "function",        open_function,
                                         take_no_iteration, close_function,
                                         nullptr,           call_function,
                                         nullptr,           nullptr,
                                         nullptr,           nullptr};

}  // namespace

Result<LoadedPlugin> load_event_function(const std::string& library, const std::string& function) {
  const std::string path = path_of(library);
  const std::string why = platform::why_unsafe_to_run(path);
  if (!why.empty())
    return Error{Status::ERROR_CONFIG, "the library \"" + path + "\" cannot be used: " + why};
  const Result<const void*> symbol = platform::load_symbol(path, function);
  if (!symbol) return symbol.error();
  return LoadedPlugin(kFunctionPlugin, const_cast<void*>(*symbol));
}

}  // namespace leat::server
