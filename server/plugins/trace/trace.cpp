// SPDX-License-Identifier: Apache-2.0
// The smallest real plugin: one line of text for each block.
#include <cerrno>
#include <fstream>
#include <stdexcept>

#include "server/include/plugin.hpp"

namespace {

class Trace {
 public:
  Trace(const leat_run& run, leat::Host) : run_(run) {
    path_ = leat::option(run.options, run.option_count, "file",
                         std::string(run.simulation) + ".trace.txt");
    out_.open(path_);
    expect_good();
  }

  void iteration(const leat_iteration_data& data) {
    for (const leat_block& block : leat::Blocks(data)) {
      const leat_variable& variable = *leat_variable_at(&run_, block.variable);
      out_ << "iteration " << data.iteration << " rank " << block.rank << " block " << block.block
           << ' ' << variable.name << " (";
      for (unsigned d = 0; d < variable.dims; ++d) out_ << (d ? ", " : "") << block.extent[d];
      out_ << ") " << block.bytes << " bytes\n";
    }
    out_.flush();
    expect_good();
  }

  void close() {
    out_.close();
    expect_good();
  }

 private:
  void expect_good() const {
    if (!out_) throw std::runtime_error("cannot write " + path_ + ": " + std::strerror(errno));
  }

  const leat_run& run_;
  std::string path_;
  std::ofstream out_;
};

}  // namespace

LEAT_PLUGIN(Trace, "trace")
