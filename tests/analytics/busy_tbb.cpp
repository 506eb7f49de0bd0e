// SPDX-License-Identifier: Apache-2.0
// A simulation on oneTBB which has a loop of a few milliseconds after the other, until the analysis of iteration 0, `pieces.txt`, is
// done, or for some seconds: 0 when it was done meanwhile.
//
//     busy_tbb run.xml
#include <tbb/parallel_for.h>
#include <leat_tbb.hpp>

#include <chrono>
#include <fstream>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

bool is_analysed() {
  std::string line;
  return static_cast<bool>(std::getline(std::ifstream("pieces.txt"), line));
}

bool compute_until_analysed() {
  const auto until = Clock::now() + std::chrono::seconds(20);
  leat::parallel([&] {
    while (!is_analysed() && Clock::now() < until) {
      tbb::parallel_for(0, 50, [](int) {
        const auto enough = Clock::now() + std::chrono::microseconds(100);
        while (Clock::now() < enough) continue;
      });
    }
  });
  return Clock::now() < until;
}

}  // namespace

int main(int, char** words) {
  if (leat_init(words[1]) != LEAT_OK) return 1;
  const int row[5] = {};
  for (int i = 0; i < 2; ++i)
    if (leat_write("a", row) != LEAT_OK || leat_end_iteration() != LEAT_OK) return 2;
  const bool is_done = compute_until_analysed();
  return leat_finalize() != LEAT_OK ? 3 : is_done ? 0 : 4;
}
