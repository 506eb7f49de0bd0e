// SPDX-License-Identifier: Apache-2.0
// What `leat view` and `leat merge` start, and what a server has made its views by.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "server/plugins/hdf5/tools/program.hpp"
#include "server/plugins/hdf5/view/make_view.hpp"

namespace leat::hdf5 {

// What `leat view` starts: makes the view of a run on several nodes anew. Exit status: 0 it is
// made, 1 it could not be, 2 the command line is wrong.

namespace {

void print_view_json(const std::string& path, const ViewFacts& facts) {
  print_line({{"view", path},
              {"parts", facts.parts},
              {"iterations", facts.iterations},
              {"ranks", facts.ranks},
              {"ranks_in_parts", facts.ranks_in_parts},
              {"left_out", facts.left_out.size() + facts.not_shown.size()}});
}

// By which the server tells these lines from others.
void print_not_shown(const ViewFacts& facts) {
  for (const std::string& what : facts.not_shown) std::printf("%s%s\n", kNotShown, what.c_str());
}

}  // namespace

// target, output or "", "json" or ""
int show_view(const Words& words) {
  const ViewPlace place = view_place(words[0], words[1]);
  const RemadeView made = remake_view(place);
  const ViewFacts& facts = made.facts;
  for (const auto& [part, commit] : made.not_finished)
    std::fprintf(stderr, "leat view: %s: the last commit cannot be finished: %s; kept as %s\n",
                 part.c_str(), commit.why.c_str(), commit.kept.c_str());
  for (const std::string& what : facts.not_for_vtk)
    std::fprintf(stderr, "leat view: %s\n", what.c_str());
  if (words[2] == "json")
    print_view_json(place.path, facts);
  else
    std::puts(described(place.path, facts).c_str());
  return kGood;
}

// Folder, view, "make", "last" or "rest", maker; see output/view_keeper.cpp. It gives signs of life. Its
// first line says what is wrong; or its last one that the view is made, and those before what of it
// VTK will not see.
int make_view_for_server(const Words& words) {
  const std::string &folder = words[0], &path = words[1], &kind = words[2], &maker = words[3];
  if (kind == "make") {
    print_not_shown(make_view(folder, path, maker));
  } else {
    const auto unreadable = kind == "rest" ? Unreadable::left_out : Unreadable::refused;
    const ViewFacts facts = make_last_view(folder, path, maker, unreadable);
    print_not_shown(facts);
    for (const std::string& what : facts.not_for_vtk) std::puts(what.c_str());
  }
  std::puts("done");
  return kGood;
}

// What `leat merge` starts: a plain file with all that a view shows. Exit status: 0 it is made, 1
// it could not be, 2 the command line is wrong.

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
