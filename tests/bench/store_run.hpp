// SPDX-License-Identifier: Apache-2.0
// A plugin that stores, driven as the server does it, with variables that are all alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/include/plugin.h"

namespace leat::bench {

/// Ends the program.
[[noreturn]] void give_up(const std::string& why);

/// Doubles that do not compress and are no zeros, which a file system may leave out.
std::vector<double> some_data(std::size_t bytes);

struct StorePlan {
  enum class Layout {
    scalar,  ///< one number each
    single,  ///< one block, of no global array
    global,  ///< pieces of a global array, one behind the other
    part,    ///< the same, in one of two servers
    blocks,  ///< of no global array
    amr,     ///< cubes on three levels of an amr mesh
  };
  int variables = 1;
  Layout layout = Layout::single;
  int blocks = 1;  ///< of each variable in an iteration
  std::size_t bytes = 8;
  int parameters = 0;
  std::string durability = {};
  int servers = 2, server = 0;                                       ///< of Layout::part
  std::string files = {};                                            ///< that they share
  std::function<std::int32_t(std::int32_t files)> shared_file = {};  ///< as leat_host has it
};

/// All variables are written in each iteration. The file is "bench.h5" in the folder, of a part
/// some file below it.
class StoreRun {
 public:
  StoreRun(const leat_plugin& plugin, const std::string& folder, const StorePlan& plan);
  StoreRun(const StoreRun&) = delete;
  StoreRun& operator=(const StoreRun&) = delete;

  void iteration(std::int64_t number);
  void close();

 private:
  void add_variable(int number);
  void add_block(int variable, int number);
  void make_patch(leat_block* block) const;
  static void log(void*, int level, const char* message);
  static std::int32_t turn_of(void* self, std::int32_t files);

  const leat_plugin& plugin_;
  StorePlan plan_;
  std::vector<double> data_;
  std::string folder_;
  std::vector<leat_option> options_;
  std::vector<std::string> names_, parameter_names_;
  std::vector<leat_variable> variables_;
  leat_mesh mesh_{};
  std::vector<leat_block> blocks_;
  std::vector<leat_parameter> parameters_;
  leat_run run_{};
  leat_host host_{sizeof(leat_host), this,    log,     [](void*) { return ""; },
                  nullptr,           nullptr, nullptr, nullptr,
                  turn_of,           nullptr};
  void* state_ = nullptr;
};

}  // namespace leat::bench
