// SPDX-License-Identifier: Apache-2.0
// A module in C++ that puts what has come at "in" as it is: all bits, and what describes it.
#include <algorithm>

#include "leat_module.hpp"

int main() {
  while (leat::module::wait()) {
    const auto in = leat::module::get<double>("in", 0);
    const auto out = leat::module::memory<double>({in.extent(0), in.extent(1)});
    for (std::int64_t y = 0; y < in.extent(0); ++y)
      for (std::int64_t x = 0; x < in.extent(1); ++x) out(y, x) = in(y, x);
    leat::module::put("out", out, in.part().unit, {in.part().name[0], in.part().name[1]});
  }
}
