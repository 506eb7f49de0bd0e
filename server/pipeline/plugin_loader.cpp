// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/plugin_loader.hpp"

#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sstream>

#include "lib/os/folder.hpp"
#include "lib/os/process.hpp"
#include "lib/os/shared_library.hpp"

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
  const Result<void> read = os::peek_exported(path, kEntry, &words, sizeof words);
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
        os::path_beside_program(fs::path("..") / lib / "leat" / "plugins" / (type + ".so"));
    if (fs::exists(path)) return path;
    if (tried.find(path) == std::string::npos) tried += (tried.empty() ? "" : ", ") + path;
  }
  return Error{Status::ERROR_CONFIG, "the plugin of type \"" + type +
                                         "\" is not where this Leat is installed: tried " + tried};
}

Result<LoadedPlugin> load_own_plugin(const std::string& path) {
  const std::string why = os::why_unsafe_to_run(path);
  if (!why.empty()) return refused(path, why);
  return load_plugin(path);
}

Result<LoadedPlugin> load_plugin(const std::string& path) {
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  const Result<Peeked> words = peek(file);
  if (!words) return words.error();
  const Result<const void*> entry = os::load_symbol(file, kEntry);
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
                                         nullptr,           nullptr,
                                         nullptr,           nullptr};

}  // namespace

Result<LoadedPlugin> load_event_function(const std::string& library, const std::string& function) {
  const std::string path = path_of(library);
  const std::string why = os::why_unsafe_to_run(path);
  if (!why.empty())
    return Error{Status::ERROR_CONFIG, "the library \"" + path + "\" cannot be used: " + why};
  const Result<const void*> symbol = os::load_symbol(path, function);
  if (!symbol) return symbol.error();
  return LoadedPlugin(kFunctionPlugin, const_cast<void*>(*symbol));
}

namespace {

thread_local std::atomic<std::uint32_t>* count_of_this_thread = nullptr;
// A stack that has run over is no place for the handler.
thread_local char spare_stack[16384];

// Nothing but one store to memory: all that may be done here. The default action comes next.
extern "C" void on_crash(int signal) {
  if (count_of_this_thread) count_of_this_thread->fetch_add(1, std::memory_order_seq_cst);
  raise(signal);
}

}  // namespace

void note_crashes() {
  for (const int signal : kCrashSignals) {
    struct sigaction action {};
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);
    sigaction(signal, &action, nullptr);
  }
}

std::atomic<std::uint32_t>* CrashNote::count_here() noexcept { return count_of_this_thread; }

CrashNote::CrashNote(std::atomic<std::uint32_t>* count) noexcept
    : count_before_(count_of_this_thread) {
  stack_t stack{};
  stack.ss_sp = spare_stack;
  stack.ss_size = sizeof spare_stack;
  sigaltstack(&stack, &before_);
  count_of_this_thread = count;
}

CrashNote::~CrashNote() {
  count_of_this_thread = count_before_;
  sigaltstack(&before_, nullptr);
}

}  // namespace leat::server
