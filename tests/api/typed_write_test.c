/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of the wrong type are refused where the compiler knows the type: from C11 on. The same program as C99, or with
 * LEAT_NO_TYPE_CHECK, writes them all. */
#include "client-api/api/leat.h"

#include <complex.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/api/expect.h"

#if __STDC_VERSION__ >= 201112L && !defined(LEAT_NO_TYPE_CHECK)
enum { kChecked = 1 };
#else
enum { kChecked = 0 };
#endif

struct particle {
  double position[3];
};

static const leat_status kMismatch = kChecked ? LEAT_ERROR_TYPE : LEAT_OK;
static double reals[24];
static int counts[48];
static long ids[4];

static void right_types(void) {
  const double* const constant = reals;
  float singles[4] = {0};
  long long long_ids[4] = {0};
  unsigned flags[4] = {0};
  int64_t exact_ids[4] = {0};
  EXPECT(leat_write("reals", reals), LEAT_OK);
  EXPECT(leat_write("reals", constant), LEAT_OK);
  EXPECT(leat_write("reals", &reals[0]), LEAT_OK);
  EXPECT(leat_write("singles", singles), LEAT_OK);
  EXPECT(leat_write("counts", counts), LEAT_OK);
  EXPECT(leat_write("flags", flags), LEAT_OK);
  EXPECT(leat_write("ids", ids), LEAT_OK);
  EXPECT(leat_write("ids", long_ids), LEAT_OK);
  EXPECT(leat_write("ids", exact_ids), LEAT_OK);
  EXPECT(leat_write_block("counts", 1, counts), LEAT_OK);
  EXPECT(leat_write("counts", (int[]){1, 2, 3, 4}), LEAT_OK);
  EXPECT(leat_write_block("counts", 2, (const int[]){1, 2, 3, 4}), LEAT_OK);
}

static void wrong_types(void) {
  unsigned unsigned_counts[4] = {0};
  float singles[24] = {0};
  EXPECT(leat_write("counts", reals), kMismatch);
  if (kChecked) {
    EXPECT_SAYS("leat_write: \"counts\" is declared int in ");
    EXPECT_SAYS("types.xml:7, got an array of double: write one of int");
    EXPECT_SAYS(
        "or give the layout type=\"double\"; a cast to const void* leaves the type unchecked");
  }
  EXPECT(leat_write("reals", counts), kMismatch);
  EXPECT(leat_write("reals", (const int*)counts), kMismatch);
  EXPECT(leat_write("reals", (float*)NULL), kChecked ? LEAT_ERROR_TYPE : LEAT_ERROR_ARGUMENT);
  EXPECT(leat_write("singles", reals), kMismatch);
  EXPECT(leat_write("counts", unsigned_counts), kMismatch);
  EXPECT(leat_write("ids", reals), kMismatch);
  EXPECT(leat_write_block("counts", 3, ids), kMismatch);
  EXPECT(leat_write_block("counts", 3, (long[]){1, 2, 3, 4}), kMismatch);
  EXPECT(leat_write("waves", singles), kMismatch);
}

static void several_dimensions(int rows, int columns) {
  double plane[4][6] = {{0}};
  const double constant_plane[4][6] = {{0}};
  double cube[2][3][4] = {{{0}}};
  int whole_plane[8][6] = {{0}};
  int whole_cube[4][3][4] = {{{0}}};
  double(*const varying)[columns] = calloc((size_t)rows, sizeof *varying);
  int(*const whole_varying)[columns] = calloc((size_t)rows * 2, sizeof *whole_varying);
  EXPECT(leat_write("reals", plane), LEAT_OK);
  EXPECT(leat_write("reals", constant_plane), LEAT_OK);
  EXPECT(leat_write("reals", cube), LEAT_OK);
  EXPECT(leat_write("reals", &reals), LEAT_OK);
  EXPECT(leat_write("reals", varying), LEAT_OK);
  EXPECT(leat_write("reals", whole_plane), kMismatch);
  EXPECT(leat_write("reals", whole_varying), kMismatch);
  EXPECT(leat_write("reals", whole_cube), LEAT_OK); /* too deep for C to say */
  free(varying);
  free(whole_varying);
}

/* What may be anything is taken as ever. */
static void unchecked_types(void) {
  void* const anything = counts;
  const char text[4] = "abc";
  const unsigned char bytes[4] = {0};
  const long double extended[16] = {0};
  const struct particle particles[8] = {{{0}}};
  const _Bool truths[4] = {0};
  double _Complex waves[2] = {0};
  struct nobody_knows* const opaque = (struct nobody_knows*)(void*)reals;
  EXPECT(leat_write("reals", (void*)reals), LEAT_OK);
  EXPECT(leat_write("singles", anything), LEAT_OK);
  EXPECT(leat_write("singles", (const void*)counts), LEAT_OK);
  EXPECT(leat_write("bytes", text), LEAT_OK);
  EXPECT(leat_write("bytes", bytes), LEAT_OK);
  EXPECT(leat_write("bytes", truths), LEAT_OK);
  EXPECT(leat_write("bytes", "abc"), LEAT_OK);
  EXPECT(leat_write("reals", extended), LEAT_OK);
  EXPECT(leat_write("reals", particles), LEAT_OK);
  EXPECT(leat_write("reals", opaque), LEAT_OK);
  EXPECT(leat_write("waves", waves), LEAT_OK);
  EXPECT(leat_write("waves", reals), LEAT_OK); /* real and imaginary parts */
  EXPECT(leat_write("reals", NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_write("reals", 0), LEAT_ERROR_ARGUMENT);
}

/* The names are those of functions still, and each argument is evaluated once. */
static void still_functions(void) {
  leat_status (*const write)(const char*, const void*) = leat_write;
  leat_status (*const write_block)(const char*, uint32_t, const void*) = &leat_write_block;
  const int* next = counts;
  EXPECT(write("counts", counts), LEAT_OK);
  EXPECT(write_block("counts", 1, counts), LEAT_OK);
  EXPECT((leat_write)("counts", reals), LEAT_OK);
  EXPECT(leat_write("counts", next++), LEAT_OK);
  EXPECT_TRUE(next == counts + 1);
}

static void typed_call(void) {
  EXPECT(leat_write_typed("reals", 0, reals, LEAT_TYPE_FLOAT64), LEAT_OK);
  EXPECT(leat_write_typed("reals", 0, reals, 0), LEAT_OK);
  EXPECT(leat_write_typed("reals", 0, reals, LEAT_TYPE_INT64), LEAT_ERROR_TYPE);
  EXPECT(leat_write_typed("reals", 0, reals, LEAT_TYPE_COMPLEX128), LEAT_ERROR_TYPE);
  EXPECT(leat_write_typed("reals", 0, reals, LEAT_TYPE_CHAR + 1), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_write_typed("reals", 0, reals, LEAT_TYPE_FLOAT64 + 32), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_write_typed("reals", 0, reals, -1), LEAT_ERROR_ARGUMENT);
  EXPECT_SAYS("-1 is no leat_type");
  EXPECT(leat_write_typed("raels", 0, reals, LEAT_TYPE_FLOAT64), LEAT_ERROR_UNKNOWN_NAME);
}

int main(int count, char** arguments) {
  if (count < 2) return EXIT_FAILURE;
  EXPECT(leat_init(arguments[1]), LEAT_OK);
  right_types();
  EXPECT(leat_finalize(), LEAT_OK);

  EXPECT(leat_init(arguments[1]), LEAT_OK);
  EXPECT(leat_write("counts", reals), kMismatch);
  EXPECT(leat_finalize(), kChecked ? LEAT_ERROR_LOST : LEAT_OK);
  if (kChecked) EXPECT_SAYS("1 write of this rank failed");

  EXPECT(leat_init(arguments[1]), LEAT_OK);
  wrong_types();
  several_dimensions(4, 6);
  unchecked_types();
  still_functions();
  typed_call();
  EXPECT(leat_finalize(), LEAT_ERROR_LOST);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
