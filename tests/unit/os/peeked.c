/* SPDX-License-Identifier: Apache-2.0
 * A library for shared_library_test: a constant, one in memory that no file has, one of another
 * library, and a constructor that must not run before the library is loaded. */
#include <stdlib.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN const unsigned leat_constant[4] = {7, 16, 4711, 42};
SHOWN int leat_zeroed[64];
extern const int leat_elsewhere;

SHOWN int leat_reads_elsewhere(void) { return leat_elsewhere; }

__attribute__((constructor)) static void run(void) { setenv("LEAT_TEST_CONSTRUCTOR", "ran", 1); }
