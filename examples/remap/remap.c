/* SPDX-License-Identifier: Apache-2.0 */
/* Reads large frames, turns rows into columns, and writes them: as codes that remap cubes of measured data do. Neither MPI nor another
 * process: with place="thread" a thread of Leat writes a frame while the next one is read and remapped.
 *
 *     remap LEAT.xml FRAMES.bin ROWS COLUMNS
 *
 * FRAMES.bin has frames of ROWS x COLUMNS floats, one after the other. */
#include <leat.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TILE = 32 };

/* In tiles: both arrays are too large for caches. */
static void remap(const float* from, float* to, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; row += TILE)
    for (int64_t column = 0; column < columns; column += TILE)
      for (int64_t y = row; y < row + TILE && y < rows; ++y)
        for (int64_t x = column; x < column + TILE && x < columns; ++x)
          to[x * rows + y] = from[y * columns + x];
}

int main(int count, char** words) {
  if (count != 5) {
    fprintf(stderr, "usage: remap LEAT.xml FRAMES.bin ROWS COLUMNS\n");
    return 2;
  }
  const int64_t rows = atoll(words[3]), columns = atoll(words[4]);
  FILE* const frames = fopen(words[2], "rb");
  float* const frame =
      rows > 0 && columns > 0 ? malloc((size_t)(rows * columns) * sizeof *frame) : NULL;
  if (!frames || !frame) {
    fprintf(stderr, "remap: cannot read frames of %s x %s from %s\n", words[3], words[4], words[2]);
    return 1;
  }
  int is_fine = leat_init(words[1]) == LEAT_OK;
  leat_set_int("rows", rows);
  leat_set_int("columns", columns);
  while (is_fine && fread(frame, sizeof *frame, (size_t)(rows * columns), frames) ==
                        (size_t)(rows * columns)) {
    void* cube = NULL; /* Leat's own memory: nothing is copied */
    is_fine = leat_alloc("cube", &cube) == LEAT_OK;
    if (!is_fine) break;
    remap(frame, cube, rows, columns);
    is_fine = leat_commit("cube") == LEAT_OK && leat_end_iteration() == LEAT_OK;
  }
  is_fine = leat_finalize() == LEAT_OK && is_fine;
  free(frame);
  fclose(frames);
  return is_fine ? 0 : 1;
}
