// SPDX-License-Identifier: Apache-2.0
// What `leat view` starts: makes the view of a run on several nodes anew. Exit status: 0 it is
// made, 1 it could not be, 2 the command line is wrong.
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "server/plugins/hdf5/base/plain_file.hpp"
#include "server/plugins/hdf5/view/remake.hpp"
#include "server/plugins/hdf5/xdmf/sidecar.hpp"

namespace {

using namespace leat::hdf5;
using nlohmann::ordered_json;

void print_json(const std::string& path, const ViewFacts& facts) {
  const ordered_json said{{"view", path},
                          {"parts", facts.parts},
                          {"iterations", facts.iterations},
                          {"ranks", facts.ranks},
                          {"ranks_in_parts", facts.ranks_in_parts},
                          {"left_out", facts.left_out.size()}};
  std::printf("%s\n", said.dump(-1, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

int show(const char* target, const char* output, bool json) {
  const ViewPlace place = view_place(target, output);
  const RemadeView made = remake_view(place);
  const ViewFacts& facts = made.facts;
  for (const auto& [part, commit] : made.not_finished)
    std::fprintf(stderr, "leat view: %s: the last commit cannot be finished: %s; kept as %s\n",
                 part.c_str(), commit.why.c_str(), commit.kept.c_str());
  for (const std::string& what : facts.not_for_vtk)
    std::fprintf(stderr, "leat view: %s\n", what.c_str());
  const std::string sidecar = xdmf::remade_sidecar(place.path, "view");
  if (json) {
    print_json(place.path, facts);
  } else {
    std::printf("%s\n%s", described(place.path, facts).c_str(), sidecar.c_str());
  }
  return 0;
}

// For a server: see view_program.hpp. It gives signs of life, see plain_file.hpp. Its first line
// says what is wrong; or its last one that the view is made, and those before what of it VTK will
// not see, and of its sidecar.
int make(const char* folder, const char* path, const std::string& kind, const char* maker) {
  if (kind == "make") {
    make_view(folder, path, maker);
    xdmf::remade_sidecar(path, maker);
  } else {
    const auto unreadable = kind == "rest" ? Unreadable::left_out : Unreadable::refused;
    const ViewFacts facts = make_last_view(folder, path, maker, unreadable);
    for (const std::string& what : facts.not_for_vtk) std::puts(what.c_str());
    std::fputs(xdmf::remade_sidecar(path, maker).c_str(), stdout);
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
    if (argc == 5) tell_server_of_life();
    if (argc == 5) return make(argv[1], argv[2], argv[3], argv[4]);
    return show(argv[1], argv[2], std::strcmp(argv[3], "json") == 0);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s%s\n", argc == 4 ? "leat view: " : "", e.what());
    return 1;
  }
}
