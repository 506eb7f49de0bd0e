// SPDX-License-Identifier: Apache-2.0
// What `leat xdmf` starts: makes the sidecars of files. Exit status: 0 all are made, 1 some could
// not be, 2 the command line is wrong.
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "server/plugins/hdf5/base/plain_file.hpp"
#include "server/plugins/hdf5/xdmf/sidecar.hpp"

namespace {

using namespace leat::hdf5::xdmf;

void print_json(const std::string& path, const Facts& facts) {
  const nlohmann::json said{
      {"sidecar", sidecar_of(path)}, {"steps", facts.steps}, {"left_out", facts.left_out}};
  std::printf("%s\n", said.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print(const std::string& path, const Facts& facts) {
  std::printf("%s", described(path, facts).c_str());
  for (const std::string& what : facts.left_out) std::printf("  without the %s\n", what.c_str());
}

void make(const std::string& path, bool json) {
  const Facts facts = make_sidecar(path, "command");
  if (facts.steps == 0) {
    std::string why;
    for (const std::string& what : facts.left_out) why += "\n  without the " + what;
    throw std::runtime_error(path + " has nothing that is on a mesh and can be shown" + why);
  }
  json ? print_json(path, facts) : print(path, facts);
}

}  // namespace

// "json" or "", files
int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: leat xdmf FILE... [--json]\n");
    return 2;
  }
  leat::hdf5::prepare_for_views("leat xdmf");
  bool all_made = true;
  for (int i = 2; i < argc; ++i) {
    leat::hdf5::is_alive();
    try {
      make(argv[i], std::strcmp(argv[1], "json") == 0);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "leat xdmf: %s\n", e.what());
      all_made = false;
    }
  }
  return all_made ? 0 : 1;
}
