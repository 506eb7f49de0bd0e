// SPDX-License-Identifier: Apache-2.0
// Sets of processors, as tests write them.
#pragma once

#include <initializer_list>

#include "lib/os/cores.hpp"

namespace leat::os {

inline CpuSet cpus(std::initializer_list<int> numbers) {
  CpuSet set;
  for (const int number : numbers) set.add(number);
  return set;
}

}  // namespace leat::os
