// SPDX-License-Identifier: Apache-2.0
// own_hdf5 PLUGIN [LIBRARY]: the words of the plugin on a thread of its own process, and in the
// simulation's, where the library was loaded before it or was not.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>

int main(int count, char** words) {
  if (count > 2 && !dlopen(words[2], RTLD_NOW)) return 2;
  void* const plugin = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return 2;
  using Function = const char*(std::int32_t);
  auto* const why_not = reinterpret_cast<Function*>(dlsym(plugin, "why_not"));
  std::printf("process: %s\n", why_not(0));
  std::printf("simulation: %s\n", why_not(1));
  return 0;
}
