/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: a container whose rules allow no unshare. */
#include <errno.h>

__attribute__((visibility("default"))) int unshare(int flags) {
  (void)flags;
  errno = EPERM;
  return -1;
}
