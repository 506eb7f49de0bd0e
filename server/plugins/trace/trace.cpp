// SPDX-License-Identifier: Apache-2.0
// The smallest real plugin: one line of text for each block. It goes on with the text of a server
// that died: see Trace::take_up().
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "server/include/plugin.hpp"

namespace {

class Trace {
 public:
  Trace(const leat_run& run, leat::Host) : run_(run) {
    path_ = leat::option(run.options, run.option_count, "file",
                         std::string(run.simulation) + ".trace.txt");
    if (leat_run_is_resumed(&run)) take_up();
    out_.open(path_, resumed_ ? std::ios::app : std::ios::trunc);
    expect_good();
  }

  void iteration(const leat_iteration_data& data) {
    if (resumed_ && data.iteration < last_) return;
    if (resumed_ && data.iteration == last_) write_again();
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
  // What the text has of its last iteration is all, or the iteration comes again. A line without
  // end is not all.
  void take_up() {
    std::ifstream in(path_);
    std::uintmax_t end = 0;  // of the whole lines
    for (std::string line; std::getline(in, line) && !in.eof();) {
      long long number = 0;
      if (std::sscanf(line.c_str(), "iteration %lld", &number) == 1 &&
          (!resumed_ || number != last_)) {
        resumed_ = true;
        last_ = number;
        begin_of_last_ = end;
      }
      end += line.size() + 1;
    }
    if (in.is_open()) std::filesystem::resize_file(path_, end);
  }

  void write_again() { std::filesystem::resize_file(path_, begin_of_last_); }

  void expect_good() const {
    if (!out_) throw std::runtime_error("cannot write " + path_ + ": " + std::strerror(errno));
  }

  const leat_run& run_;
  std::string path_;
  std::ofstream out_;
  bool resumed_ = false;  // and there is an iteration in the text
  std::int64_t last_ = 0;
  std::uintmax_t begin_of_last_ = 0;
};

}  // namespace

LEAT_PLUGIN(Trace, "trace")
