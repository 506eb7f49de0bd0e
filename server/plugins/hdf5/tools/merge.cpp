// SPDX-License-Identifier: Apache-2.0
// What `leat merge` starts: a plain file with all that a view shows. Exit status: 0 it is made, 1
// it could not be, 2 the command line is wrong.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "server/plugins/hdf5/tools/program.hpp"
#include "server/plugins/hdf5/view/merge.hpp"

namespace leat::hdf5 {
namespace {

// One line that is written over, for somebody who looks on.
class ProgressLine {
 public:
  void show(std::uint64_t done, std::uint64_t all) {
    const int percent =
        all == 0 ? 100
                 : static_cast<int>(100.0 * static_cast<double>(done) / static_cast<double>(all));
    if (!is_seen_ || percent == last_) return;
    last_ = percent;
    std::fprintf(stderr, "\rleat merge: %d %%", percent);
  }
  ~ProgressLine() {
    if (last_ >= 0) std::fprintf(stderr, "\r\x1b[K");
  }

 private:
  bool is_seen_ = isatty(STDERR_FILENO) == 1;
  int last_ = -1;
};

MergeFacts merge(const std::string& from, const std::string& to, bool replace) {
  ProgressLine line;
  return merge_view(from, to, replace,
                    [&line](std::uint64_t done, std::uint64_t all) { line.show(done, all); });
}

void print_merge_json(const std::string& file, const MergeFacts& facts) {
  print_line({{"file", file},
              {"datasets", facts.datasets},
              {"iterations", facts.iterations},
              {"bytes", facts.bytes}});
}

}  // namespace

// view, file, "force" or "", "json" or ""
int make_file_of_view(const Words& words) {
  const std::string& file = words[1];
  const MergeFacts facts = merge(words[0], file, words[2] == "force");
  for (const std::string& what : facts.not_for_vtk)
    std::fprintf(stderr, "leat merge: %s\n", what.c_str());
  if (words[3] == "json") {
    print_merge_json(file, facts);
  } else {
    std::printf("%s: %zu datasets, %llu iterations, %llu bytes of values\n", file.c_str(),
                facts.datasets, static_cast<unsigned long long>(facts.iterations),
                static_cast<unsigned long long>(facts.bytes));
  }
  return kGood;
}

}  // namespace leat::hdf5
