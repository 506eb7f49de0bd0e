// SPDX-License-Identifier: Apache-2.0
// What `leat view` starts: makes the view of a run on several nodes anew. Exit status: 0 it is
// made, 1 it could not be, 2 the command line is wrong.
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "server/plugins/hdf5/plain_file.hpp"
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
                          {"ranks_in_parts", facts.ranks_in_parts}};
  std::printf("%s\n", said.dump(-1, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

}  // namespace

// target, output or "", "json" or ""
int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: leat view TARGET [--output FILE] [--json]\n");
    return 2;
  }
  prepare_for_views();
  try {
    int finished = 0;
    const ViewPlace place = view_place(argv[1], argv[2]);
    const ViewFacts facts = remake_view(place, &finished);
    for (const std::string& what : facts.left_out)
      std::fprintf(stderr, "leat view: %s\n", what.c_str());
    const std::string sidecar = xdmf::remade_sidecar(place.path, "view");
    if (std::strcmp(argv[3], "json") == 0) {
      print_json(place.path, facts);
    } else {
      std::printf("%s\n%s", described(place.path, facts).c_str(), sidecar.c_str());
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "leat view: %s\n", e.what());
    return 1;
  }
}
