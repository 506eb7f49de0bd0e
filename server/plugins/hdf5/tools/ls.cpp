// SPDX-License-Identifier: Apache-2.0
// What `leat ls` starts for files of the hdf5 store. Standard input: names of files, each with a
// zero byte behind it. Standard output: for each a line of JSON, at once, so that a file in which
// the HDF5 library crashes, or goes round for ever, costs that file only. --brief: without its
// variables.
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "server/plugins/hdf5/tools/ls/facts.hpp"

namespace {

// Of processor time, for one file; some hundredths are usual. Waiting for a slow disk does not
// count.
constexpr int kMostSeconds = 10;

void give_up(int) {
  constexpr char kWhy[] =
      "leat ls: the HDF5 library has worked on one file for 10 seconds: it is damaged, or a view "
      "of very many "
      "iterations\n";
  (void)!::write(STDERR_FILENO, kWhy, sizeof kWhy - 1);
  _exit(1);
}

void limit_time() {
  const itimerval limit{{0, 0}, {kMostSeconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace leat::hdf5;
  // A damaged file makes the HDF5 library crash now and then: that leaves nothing behind.
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // A reader's lock on the file would be seen by other programs that write it.
  setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
  ::signal(SIGPROF, give_up);
  const Detail detail =
      argc > 1 && std::string_view(argv[1]) == "--brief" ? Detail::brief : Detail::all;
  for (std::string path; std::getline(std::cin, path, '\0');) {
    limit_time();
    const Json facts = facts_of_file(path, detail);
    std::puts(facts.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    std::fflush(stdout);
  }
  return 0;
}
