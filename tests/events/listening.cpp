// SPDX-License-Identifier: Apache-2.0
// A plugin that writes a line into its file for all that it is called with. Options: file; fail, an
// event at which it throws; crash, an iteration in whose on_signal its process ends, the first time.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "server/include/plugin.hpp"

namespace {

class Listening {
 public:
  Listening(const leat_run& run, const leat::Host&)
      : file_(leat::option(run.options, run.option_count, "file", "told.txt")),
        fail_(leat::option(run.options, run.option_count, "fail")),
        crash_(std::atoll(leat::option(run.options, run.option_count, "crash", "-1").c_str())) {}

  void on_signal(const char* event, std::int32_t rank, std::int64_t iteration, const char* args) {
    say(std::string(event) + " " + std::to_string(rank) + " " + std::to_string(iteration) + args);
    const std::string once = file_ + ".crashed";
    if (iteration == crash_ && !std::filesystem::exists(once)) {
      std::ofstream mark(once);
      mark.close();
      kill(getpid(), SIGKILL);
    }
    if (event == fail_) throw std::runtime_error("does not like \"" + fail_ + "\"");
  }
  void iteration(const leat_iteration_data& data) {
    say("iteration " + std::to_string(data.iteration) + " " + std::to_string(data.block_count));
  }
  void close() {}

 private:
  // Each line is in the file when the call returns, whatever becomes of the process.
  void say(const std::string& line) const { std::ofstream(file_, std::ios::app) << line << "\n"; }

  std::string file_, fail_;
  std::int64_t crash_;
};

}  // namespace

LEAT_PLUGIN(Listening, "listening")
