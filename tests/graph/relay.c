/* SPDX-License-Identifier: Apache-2.0 */
/* A module in C that puts what has come at "in" as it is: all bits, and what describes it. */
#include <string.h>

#include "leat_module.h"

int main(void) {
  while (leat_wait() == 1) {
    leat_part in;
    void* out = NULL;
    if (leat_get("in", 0, &in) != LEAT_OK || leat_put_memory(in.bytes, &out) != LEAT_OK) return 1;
    memcpy(out, in.data, in.bytes);
    if (leat_put_described("out", out, (leat_type)in.type, in.dims, in.extent, in.unit, in.name) !=
        LEAT_OK)
      return 1;
  }
  return 0;
}
