/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of leat.h expect of a call; for C and C++. */
#ifndef LEAT_TESTS_EXPECT_H
#define LEAT_TESTS_EXPECT_H

#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect_status(int line, const char* call, leat_status got, leat_status wanted) {
  if (got == wanted) return;
  printf("line %d: %s is %s, not %s: %s\n", line, call, leat_status_name(got),
         leat_status_name(wanted), leat_last_error());
  ++failures;
}

static void expect_true(int line, const char* what, int true_) {
  if (true_) return;
  printf("line %d: not so: %s (last error: %s)\n", line, what, leat_last_error());
  ++failures;
}

#define EXPECT(call, wanted) expect_status(__LINE__, #call, call, wanted)
#define EXPECT_TRUE(what) expect_true(__LINE__, #what, what)
#define EXPECT_SAYS(part) \
  expect_true(__LINE__, "the message has " part, strstr(leat_last_error(), part) != NULL)

#endif
