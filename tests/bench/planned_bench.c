/* SPDX-License-Identifier: Apache-2.0 */
/* Two programs of one process whose computing between outputs is as long as is wanted: heat that spreads on a plate, as in
 * examples/heat_openmp, which hands its array over by leat_write; and frames whose rows become columns, as in examples/remap, right
 * into Leat's memory.
 *
 *     leat_planned_bench heat|remap LEAT.xml ITERATIONS N ROWS
 *
 * Arrays have N x N values. ROWS of them are computed in an iteration, of further steps where they are more than N. */
#include <leat.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 32 };

static void spread(const double* T, double* next, int64_t n, int64_t y) {
  if (y == 0 || y == n - 1) return;
  for (int64_t x = 1; x < n - 1; ++x)
    next[y * n + x] =
        T[y * n + x] +
        0.2 * (((T[y * n + x - 1] + T[y * n + x + 1]) + (T[(y - 1) * n + x] + T[(y + 1) * n + x])) -
               4 * T[y * n + x]);
}

static void turn(const double* from, double* to, int64_t n, int64_t first, int64_t rows) {
  for (int64_t column = 0; column < n; column += TILE)
    for (int64_t y = first; y < first + rows; ++y)
      for (int64_t x = column; x < column + TILE && x < n; ++x) to[x * n + y] = from[y * n + x];
}

static int heat(double* T, double* next, int64_t n, int64_t rows) {
  if (leat_write("field", T) != LEAT_OK || leat_end_iteration() != LEAT_OK) return 0;
  for (int64_t row = 0; row < rows; ++row)
    spread(row / n % 2 ? next : T, row / n % 2 ? T : next, n, row % n);
  return 1;
}

static int remap(const double* frame, int64_t n, int64_t rows) {
  void* cube = NULL;
  if (leat_alloc("field", &cube) != LEAT_OK) return 0;
  for (int64_t row = 0; row < rows; row += TILE) {
    const int64_t first = row % n, most = n - first < TILE ? n - first : TILE;
    turn(frame, cube, n, first, rows - row < most ? rows - row : most);
  }
  return leat_commit("field") == LEAT_OK && leat_end_iteration() == LEAT_OK;
}

int main(int count, char** words) {
  if (count != 6) {
    fprintf(stderr, "usage: leat_planned_bench heat|remap LEAT.xml ITERATIONS N ROWS\n");
    return 2;
  }
  const int64_t iterations = atoll(words[3]), n = atoll(words[4]), rows = atoll(words[5]);
  double* const one = malloc(sizeof(double) * (size_t)(n * n));
  double* const other = malloc(sizeof(double) * (size_t)(n * n));
  if (!one || !other) return 1;
  for (int64_t i = 0; i < n * n; ++i) one[i] = other[i] = (double)(i % n);
  int is_fine = leat_init(words[2]) == LEAT_OK;
  leat_set_int("n", n);
  for (int64_t i = 0; i < iterations && is_fine; ++i)
    is_fine = strcmp(words[1], "heat") == 0 ? heat(one, other, n, rows) : remap(one, n, rows);
  is_fine = leat_finalize() == LEAT_OK && is_fine;
  free(one);
  free(other);
  return is_fine ? 0 : 1;
}
