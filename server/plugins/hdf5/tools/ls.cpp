// SPDX-License-Identifier: Apache-2.0
// What `leat ls` starts for files of the hdf5 store. Standard input: names of files, each with a
// zero byte behind it. Standard output: for each a line of JSON, at once, so that a file in which
// the HDF5 library crashes, or goes round for ever, costs that file only. --brief: without its
// variables.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "server/plugins/hdf5/tools/ls/facts.hpp"
#include "server/plugins/hdf5/tools/program.hpp"

namespace leat::hdf5 {
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

int list_files(const Words& words) {
  ::signal(SIGPROF, give_up);
  const Detail detail = !words.empty() && words[0] == "--brief" ? Detail::brief : Detail::all;
  for (std::string path; std::getline(std::cin, path, '\0');) {
    limit_time();
    print_line(facts_of_file(path, detail));
    std::fflush(stdout);
  }
  return kGood;
}

}  // namespace leat::hdf5
