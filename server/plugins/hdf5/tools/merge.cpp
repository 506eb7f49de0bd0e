// SPDX-License-Identifier: Apache-2.0
// What `leat merge` starts: a plain file with all that a view shows. Exit status: 0 it is made, 1
// it could not be, 2 the command line is wrong.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "server/plugins/hdf5/base/plain_file.hpp"
#include "server/plugins/hdf5/view/merge.hpp"

namespace {

using namespace leat::hdf5;
using nlohmann::ordered_json;

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

void print_json(const char* file, const MergeFacts& facts) {
  const ordered_json said{{"file", file},
                          {"datasets", facts.datasets},
                          {"iterations", facts.iterations},
                          {"bytes", facts.bytes}};
  std::printf("%s\n", said.dump(-1, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

}  // namespace

// view, file, "force" or "", "json" or ""
int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: leat merge VIEW FILE [--force] [--json]\n");
    return 2;
  }
  prepare_for_views("leat merge");
  try {
    const MergeFacts facts = merge(argv[1], argv[2], std::strcmp(argv[3], "force") == 0);
    for (const std::string& what : facts.not_for_vtk)
      std::fprintf(stderr, "leat merge: %s\n", what.c_str());
    if (std::strcmp(argv[4], "json") == 0) {
      print_json(argv[2], facts);
    } else {
      std::printf("%s: %zu datasets, %llu iterations, %llu bytes of values\n", argv[2],
                  facts.datasets, static_cast<unsigned long long>(facts.iterations),
                  static_cast<unsigned long long>(facts.bytes));
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "leat merge: %s\n", e.what());
    return 1;
  }
}
