// SPDX-License-Identifier: Apache-2.0
// A plugin as somebody outside of Leat would write it: installed headers only.
#include <leat/plugin.hpp>

#include <fstream>
#include <stdexcept>

namespace {

class Count {
 public:
  Count(const leat_run& run, leat::Host host) : run_(run), host_(host) {}

  void iteration(const leat_iteration_data& data) {
    for (const leat_block& block : leat::Blocks(data)) bytes_ += block.bytes;
    ++iterations_;
  }

  void close() {
    const std::string file = leat::option(run_.options, run_.option_count, "file", "count.txt");
    std::ofstream(file) << iterations_ << " iterations, " << bytes_ << " bytes\n";
    host_.info("counted");
  }

 private:
  const leat_run& run_;
  leat::Host host_;
  std::uint64_t bytes_ = 0, iterations_ = 0;
};

}  // namespace

LEAT_PLUGIN(Count, "count")
