// SPDX-License-Identifier: Apache-2.0
// Help for plugins in C++ (17 or newer), header only, over plugin.h: a class instead of three
// functions and a void*.
//
//     class Mine {
//      public:
//       Mine(const leat_run& run, leat::Host host);          // open; throw std::exception for
//                                                            // "cannot";
//                                                            leat_run_is_resumed(&run):
//                                                            // go on with what is there
//       void iteration(const leat_iteration_data& data);     // throw for "not stored"
//       void close();                                        // after the last iteration
//       void results(const leat_result_set& set);            // what scripts made; may be left out
//     };
//     LEAT_PLUGIN(Mine, "mine")
//
// What is thrown becomes a message in the server's log and in what leat_finalize reports.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "plugin.h"

namespace leat {

/// The server's log. A copy is as good as the original; valid until close() has returned.
class Host {
 public:
  explicit Host(const leat_host* host) : host_(host) {}
  void info(const std::string& message) const { log(LEAT_LOG_INFO, message); }
  void warn(const std::string& message) const { log(LEAT_LOG_WARNING, message); }
  void error(const std::string& message) const { log(LEAT_LOG_ERROR, message); }
  /// The run's ledger so far, as JSON; "" when the server has none.
  std::string ledger() const { return leat_host_ledger(host_); }
  /// So many bytes more are done: to be said in calls that may take longer than a timeout.
  void progress(std::uint64_t bytes) const { leat_host_progress(host_, bytes); }

 private:
  void log(int level, const std::string& message) const {
    host_->log(host_->context, level, message.c_str());
  }
  const leat_host* host_;
};

/// Value of an option, or `otherwise`.
inline std::string option(const leat_option* options, std::uint64_t count, const char* name,
                          const std::string& otherwise = "") {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (std::strcmp(options[i].name, name) == 0) return options[i].value;
  }
  return otherwise;
}

/// The blocks of an iteration as a range: for (const leat_block& block : Blocks(data)).
class Blocks {
 public:
  explicit Blocks(const leat_iteration_data& data) : data_(data) {}
  class Iterator {
   public:
    Iterator(const leat_iteration_data& data, std::uint64_t at) : data_(data), at_(at) {}
    const leat_block& operator*() const { return *leat_block_at(&data_, at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const leat_iteration_data& data_;
    std::uint64_t at_;
  };
  Iterator begin() const { return {data_, 0}; }
  Iterator end() const { return {data_, data_.block_count}; }

 private:
  const leat_iteration_data& data_;
};

namespace detail {

template <class Plugin>
struct State {
  Host host;
  Plugin plugin;
};

// Runs `body`; what it throws is logged, and the call has failed.
template <class Body>
int guarded(const Host& host, Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& e) {
    host.error(e.what());
  } catch (...) {
    host.error("unknown exception");
  }
  return 1;
}

template <class Plugin>
int open(const leat_run* run, const leat_host* raw, void** state) noexcept {
  const Host host(raw);
  return guarded(host, [&] { *state = new State<Plugin>{host, Plugin(*run, host)}; });
}

template <class Plugin>
int iteration(void* state, const leat_iteration_data* data) noexcept {
  auto* own = static_cast<State<Plugin>*>(state);
  return guarded(own->host, [&] { own->plugin.iteration(*data); });
}

template <class Plugin>
int close(void* state) noexcept {
  const std::unique_ptr<State<Plugin>> own(static_cast<State<Plugin>*>(state));
  return guarded(own->host, [&] { own->plugin.close(); });
}

template <class Plugin>
int results(void* state, const leat_result_set* set) noexcept {
  auto* own = static_cast<State<Plugin>*>(state);
  return guarded(own->host, [&] { own->plugin.results(*set); });
}

using ResultsFunction = int (*)(void*, const leat_result_set*);

// The function above for a class that has one of this name, else none.
template <class Plugin>
constexpr auto results_of(int) -> decltype(&Plugin::results, ResultsFunction{}) {
  return results<Plugin>;
}
template <class Plugin>
constexpr ResultsFunction results_of(long) {
  return nullptr;
}

}  // namespace detail
}  // namespace leat

/// Exports `Class` as the plugin of this library, called `title`.
#define LEAT_PLUGIN(Class, title)                                                           \
  LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {LEAT_PLUGIN_ABI,                \
                                                            sizeof(leat_plugin),            \
                                                            title,                          \
                                                            leat::detail::open<Class>,      \
                                                            leat::detail::iteration<Class>, \
                                                            leat::detail::close<Class>,     \
                                                            leat::detail::results_of<Class>(0)};
