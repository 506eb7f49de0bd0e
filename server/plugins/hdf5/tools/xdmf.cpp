// SPDX-License-Identifier: Apache-2.0
// What `leat xdmf` starts: makes the sidecars of files. Exit status: 0 all are made, 1 some could
// not be, 2 the command line is wrong.
#include <cstdio>
#include <exception>
#include <string>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/tools/program.hpp"
#include "server/plugins/hdf5/xdmf/sidecar.hpp"

namespace leat::hdf5 {
namespace {

void print_sidecar_json(const std::string& path, const xdmf::Facts& facts) {
  print_line(
      {{"left_out", facts.left_out}, {"sidecar", xdmf::sidecar_of(path)}, {"steps", facts.steps}});
}

void print(const std::string& path, const xdmf::Facts& facts) {
  std::printf("%s", xdmf::described(path, facts).c_str());
  for (const std::string& what : facts.left_out) std::printf("  without the %s\n", what.c_str());
}

void make(const std::string& path, bool json) {
  const xdmf::Facts facts = xdmf::make_sidecar(path, "command");
  if (facts.steps == 0) {
    std::string why;
    for (const std::string& what : facts.left_out) why += "\n  without the " + what;
    throw std::runtime_error(path + " has nothing that is on a mesh and can be shown" + why);
  }
  json ? print_sidecar_json(path, facts) : print(path, facts);
}

}  // namespace

// "json" or "", files
int make_sidecars(const Words& words) {
  bool all_made = true;
  for (std::size_t i = 1; i < words.size(); ++i) {
    is_alive();
    try {
      make(words[i], words[0] == "json");
    } catch (const std::exception& e) {
      std::fprintf(stderr, "leat xdmf: %s\n", e.what());
      all_made = false;
    }
  }
  return all_made ? kGood : kBad;
}

}  // namespace leat::hdf5
