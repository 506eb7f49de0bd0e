// SPDX-License-Identifier: Apache-2.0
// Functions as Damaris calls them, which write down what they are called with.
#include <cstdint>
#include <fstream>

extern "C" {
#pragma GCC visibility push(default)

void note(const char* event, std::int32_t src, std::int32_t step, const char* args) {
  std::ofstream("noted.txt", std::ios::app) << event << " " << src << " " << step << args << "\n";
}

void note_too(const char* event, std::int32_t src, std::int32_t step, const char* args) {
  std::ofstream("noted_too.txt", std::ios::app)
      << event << " " << src << " " << step << args << "\n";
}

#pragma GCC visibility pop
}
