/* SPDX-License-Identifier: Apache-2.0 */
/* The first simulation of the docs: built against an installed Leat. */
#include <leat.h>

int main(void) {
  double wave[100] = {0};
  if (leat_init("first.xml") != LEAT_OK) return 1;
  for (int step = 0; step < 20; ++step) {
    for (int i = 0; i < 100; ++i) wave[i] = step + 0.01 * i;
    leat_write("wave", wave);
    leat_end_iteration();
  }
  return leat_finalize() != LEAT_OK;
}
