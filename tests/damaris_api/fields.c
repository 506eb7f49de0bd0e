/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation as they are written for Damaris: each rank that is a client hands over its part of a field with ghosts, blocks of
 * another one, and a third one that it computes in place. test_run.py knows the same arithmetic. */
#include <Damaris.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 3);                                           \
    }                                                                         \
  } while (0)

enum { kGhost = -7 };

static int width, height, domains;

/* Rows of the rank, with a ghost row on both sides. */
static void write_field(int rank, int rows, int step) {
  double* const u = malloc(sizeof *u * (size_t)(rows + 2) * (size_t)width);
  const int64_t position[2] = {(int64_t)rank * rows, 0};
  for (int row = 0; row < rows + 2; ++row)
    for (int x = 0; x < width; ++x)
      u[row * width + x] =
          row == 0 || row == rows + 1 ? kGhost : 1000. * step + (rank * rows + row - 1) + 0.01 * x;
  CHECK(damaris_set_position("fields/u", position) == DAMARIS_OK);
  CHECK(damaris_write("fields/u", u) == DAMARIS_OK);
  free(u);
}

static void write_blocks(int rank, int rows, int step) {
  int* const b = malloc(sizeof *b * (size_t)rows * (size_t)(width / domains));
  for (int32_t block = 0; block < domains; ++block) {
    const int64_t position[2] = {(int64_t)rank * rows, (int64_t)block * (width / domains)};
    for (int i = 0; i < rows * (width / domains); ++i) b[i] = 100 * step + 10 * rank + block;
    CHECK(damaris_set_block_position("b", block, position) == DAMARIS_OK);
    CHECK(damaris_write_block("b", block, b) == DAMARIS_OK);
  }
  free(b);
}

static void compute_in_place(int rank, int rows, int step) {
  void *memory = NULL, *again = NULL;
  int now = -1;
  const int64_t position[2] = {(int64_t)rank * rows, 0};
  CHECK(damaris_get_iteration(&now) == DAMARIS_OK && now == step);
  CHECK(damaris_set_position("w", position) == DAMARIS_OK);
  CHECK(damaris_alloc("w", &memory) == DAMARIS_OK && memory);
  float* const w = memory;
  for (int i = 0; i < rows * width; ++i) w[i] = (float)(step + rank + 0.5 * i);
  CHECK(damaris_alloc("w", &again) == DAMARIS_OK && again == memory);
  if (step % 2 == 0) {
    CHECK(damaris_commit("w") == DAMARIS_OK);
    CHECK(w[1] == (float)(step + rank + 0.5)); /* it may still be read */
    CHECK(damaris_clear("w") == DAMARIS_OK);
    CHECK(damaris_clear("w") == DAMARIS_BLOCK_NOT_FOUND);
  } else {
    CHECK(damaris_commit_block_iteration("w", 0, step + 1) == DAMARIS_BLOCK_NOT_FOUND);
    CHECK(damaris_commit_block_iteration("w", 0, step) == DAMARIS_OK);
    CHECK(damaris_clear_iteration("w", step + 1) == DAMARIS_BLOCK_NOT_FOUND);
    CHECK(damaris_clear_iteration("w", step) == DAMARIS_OK);
  }
  CHECK(damaris_commit("w") == DAMARIS_BLOCK_NOT_FOUND);
}

static int calls;

static void on_snapshot(const char* name, int32_t source, int32_t iteration,
                        const char* arguments) {
  int rank = -1, now = -1;
  MPI_Comm comm;
  CHECK(damaris_client_comm_get(&comm) == DAMARIS_OK && damaris_get_iteration(&now) == DAMARIS_OK);
  MPI_Comm_rank(comm, &rank);
  CHECK(strcmp(name, "snapshot") == 0 && source == rank && iteration == now && !arguments);
  ++calls;
}

/* Each type through each size that is one of its C types. */
static void parameters(void) {
  int16_t small = 0;
  int64_t large = 0;
  float single = 0;
  double real = 0;
  char text[8] = "???????", letter = 0;
  CHECK(damaris_parameter_get("WIDTH", &small, sizeof small) == DAMARIS_OK && small == width);
  CHECK(damaris_parameter_get("WIDTH", &large, sizeof large) == DAMARIS_OK && large == width);
  CHECK(damaris_parameter_get("below", &large, sizeof large) == DAMARIS_OK && large == -3);
  CHECK(damaris_parameter_get("dt", &single, sizeof single) == DAMARIS_OK && single == 0.25f);
  CHECK(damaris_parameter_get("dt", &real, sizeof real) == DAMARIS_OK && real == 0.25);
  single = 0.125f;
  CHECK(damaris_parameter_set("dt", &single, sizeof single) == DAMARIS_OK);
  CHECK(damaris_parameter_get("dt", &real, sizeof real) == DAMARIS_OK && real == 0.125);
  small = -5;
  CHECK(damaris_parameter_set("below", &small, sizeof small) == DAMARIS_OK);
  CHECK(damaris_parameter_get("below", &large, sizeof large) == DAMARIS_OK && large == -5);
  CHECK(damaris_parameter_get("title", text, sizeof text) == DAMARIS_OK &&
        strcmp(text, "tall") == 0);
  CHECK(damaris_parameter_get("title", &letter, 1) == DAMARIS_OK && letter == 't');
  CHECK(damaris_parameter_set("title", "wide open", 4) == DAMARIS_OK);
  CHECK(damaris_parameter_get("title", text, sizeof text) == DAMARIS_OK &&
        strcmp(text, "wide") == 0);
  CHECK(damaris_parameter_get("dt", &real, 2) == DAMARIS_ARGUMENT_ERROR);
  CHECK(damaris_parameter_get("WIDHT", &small, sizeof small) == DAMARIS_UNDEFINED_PARAMETER);
}

static void simulate(int steps) {
  int rank = -1, size = -1;
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK(damaris_client_comm_get(&comm) == DAMARIS_OK);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK(damaris_parameter_set("size", &size, sizeof size) == DAMARIS_OK);
  parameters();
  for (int step = 0; step < steps; ++step) {
    if (step == 0) {
      double* const x = malloc(sizeof *x * (size_t)width);
      for (int i = 0; i < width; ++i) x[i] = 0.5 * i;
      CHECK(damaris_write("coord/x", x) == DAMARIS_OK);
      free(x);
    }
    write_field(rank, height / size, step);
    write_blocks(rank, height / size, step);
    compute_in_place(rank, height / size, step);
    CHECK(damaris_signal("snapshot") == DAMARIS_OK);
    CHECK(damaris_end_iteration() == DAMARIS_OK);
  }
  CHECK(calls == steps);
  MPI_Barrier(comm);
  CHECK(damaris_stop() == DAMARIS_OK);
}

int main(int argc, char** argv) {
  int is_client = -1;
  char text[16] = "";
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  CHECK(damaris_initialize(argv[1], MPI_COMM_WORLD) == DAMARIS_OK);
  CHECK(damaris_initialize(argv[1], MPI_COMM_WORLD) == DAMARIS_ALREADY_INITIALIZED);
  CHECK(damaris_parameter_get("WIDTH", &width, sizeof width) == DAMARIS_OK);
  CHECK(damaris_parameter_get("HEIGHT", &height, sizeof height) == DAMARIS_OK);
  CHECK(damaris_parameter_get("domains", &domains, sizeof domains) == DAMARIS_OK);
  CHECK(damaris_parameter_get("odd", text, sizeof text) == DAMARIS_OK &&
        strcmp(text, "a\tb\\t\n") == 0);
  CHECK(damaris_bind("snapshot", on_snapshot) == DAMARIS_OK);
  CHECK(damaris_bind("snapshot", NULL) == DAMARIS_BIND_ERROR);
  CHECK(damaris_start(&is_client) == DAMARIS_OK);
  if (is_client) simulate(atoi(argv[2]));
  CHECK(damaris_finalize() == DAMARIS_OK);
  CHECK(damaris_finalize() == DAMARIS_NOT_INITIALIZED);
  MPI_Finalize();
  return 0;
}
