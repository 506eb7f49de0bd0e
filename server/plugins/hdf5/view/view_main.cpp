// SPDX-License-Identifier: Apache-2.0
// What `leat view` starts: makes the view of a run on several nodes anew. Exit status: 0 it is
// made, 1 it could not be, 2 the command line is wrong.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "server/plugins/hdf5/plain_file.hpp"
#include "server/plugins/hdf5/view/json_text.hpp"
#include "server/plugins/hdf5/view/remake.hpp"

namespace {

using namespace leat::hdf5;

void print_json(const std::string& path, const ViewFacts& facts) {
  std::printf(
      "{\"view\": %s, \"parts\": %zu, \"iterations\": %llu, \"ranks\": %lld, \"ranks_in_parts\": "
      "%lld, \"left_out\": %zu}\n",
      json_text(path).c_str(), facts.parts, static_cast<unsigned long long>(facts.iterations),
      static_cast<long long>(facts.ranks), static_cast<long long>(facts.ranks_in_parts),
      facts.left_out.size());
}

int show(const char* target, const char* output, bool json) {
  int finished = 0;
  const ViewPlace place = view_place(target, output);
  const ViewFacts facts = remake_view(place, &finished);
  if (json) {
    print_json(place.path, facts);
  } else {
    std::printf("%s\n", described(place.path, facts).c_str());
  }
  return 0;
}

// For a server: see view_program.hpp. Its first line says what is wrong, its last one that the view
// is made.
int make(const char* folder, const char* path, const std::string& kind, const char* maker) {
  if (kind == "make") {
    make_view(folder, path, maker);
  } else {
    const auto unreadable = kind == "rest" ? Unreadable::left_out : Unreadable::refused;
    make_last_view(folder, path, maker, unreadable);
  }
  std::puts("done");
  return 0;
}

}  // namespace

// target, output or "", "json" or ""; or folder, view, "make", "last" or "rest", maker
int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: leat view TARGET [--output FILE] [--json]\n");
    return 2;
  }
  prepare_for_views(argc == 4 ? "leat view" : "");
  try {
    if (argc == 5) return make(argv[1], argv[2], argv[3], argv[4]);
    return show(argv[1], argv[2], std::strcmp(argv[3], "json") == 0);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s%s\n", argc == 4 ? "leat view: " : "", e.what());
    return 1;
  }
}
