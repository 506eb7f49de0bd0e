/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: a file system without locks, as a network file system whose lock service does
 * not run is one. */
#include <errno.h>
#include <sys/file.h>

__attribute__((visibility("default"))) int flock(int descriptor, int operation) {
  (void)descriptor;
  (void)operation;
  errno = ENOLCK;
  return -1;
}
