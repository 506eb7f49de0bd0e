// SPDX-License-Identifier: Apache-2.0
// Sizes that change between writes, and one that may not: tests/support/varying_sizes.py says which statuses it prints.
#define LEAT_NO_EXCEPTIONS
#include <cstdio>
#include <vector>

#include "client-api/api/leat.hpp"

namespace {

std::vector<double> values(int count, double first, double step) {
  std::vector<double> all;
  for (int i = 0; i < count; ++i) all.push_back(first + step * i);
  return all;
}

leat_status write_sizes() {
  leat_status worst = LEAT_OK;
  for (const int n : {4, 2, 6}) {
    for (const leat_status status : {leat::set("n", n), leat::write("u", values(n, n, 0.1))})
      if (status != LEAT_OK) worst = status;
    const int iteration = static_cast<int>(leat::iteration());
    if (iteration == 0) leat::write("w", values(3, 0, 1));
    if (iteration == 1) {
      std::printf("%d ", leat::set("m", 5));
      std::printf("%d ", leat::write("w", values(3, 9, 1)));
      std::printf("%d ", leat::write("w", values(5, 9, 1)));
      std::printf("%d ", leat::set("m", 3));
      std::printf("%d ", leat::write("w", values(3, 1, 1)));
    }
    leat::end_iteration();
  }
  return worst;
}

}  // namespace

int main() {
  leat::Session session("varying.xml");
  const leat_status worst = write_sizes();
  std::printf("%d\n", session.finalize());
  return worst == LEAT_OK ? 0 : 1;
}
