/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that must be refused; ODD_ABI and ODD_SIZE come from the build. Loading one leaves a
 * trace: the constructor makes the file that LEAT_TEST_TRACE names. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/include/plugin.h"

__attribute__((constructor)) static void leave_trace(void) {
  const char* path = getenv("LEAT_TEST_TRACE");
  if (path) close(open(path, O_CREAT | O_WRONLY, 0600));
}

#ifndef ODD_WITHOUT_ENTRY
LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {ODD_ABI, ODD_SIZE, ODD_NAME, 0, 0, 0, 0,
                                                          0,       0,        0,        0, 0, 0, 0};
#endif
