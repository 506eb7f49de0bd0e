/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat spreads on a plate: dT/dt = a * (d2T/dx2 + d2T/dy2), by explicit Euler steps on a grid of ny x nx cells.
 * Each rank has rows_of_rank() rows of the plate, with one ghost row above and one below.
 *
 *     mpirun -n 2 heat heat.xml 200
 *
 * Where the XML makes checkpoints, as heat_long.xml does, a run goes on behind the newest one.
 */
#include <leat_mpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { NY = 64, NX = 48 };
#define AT(T, y, x) (T)[(y)*NX + (x)]

static void start(double* T, int first_row, int rows) {
  for (int y = 0; y < rows + 2; ++y)
    for (int x = 0; x < NX; ++x) {
      const int global = first_row + y - 1;
      AT(T, y, x) = global >= 16 && global < 32 && x >= 8 && x < 24 ? 400.0 : 300.0;
    }
}

static MPI_Comm simulation;             /* the ranks that compute */
static double plates[2][(NY + 2) * NX]; /* of this step and of the one before, in turns */

static void exchange_ghosts(double* T, int rows, int rank, int size) {
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL,
            down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(&AT(T, 1, 0), NX, MPI_DOUBLE, up, 0, &AT(T, rows + 1, 0), NX, MPI_DOUBLE, down, 0,
               simulation, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&AT(T, rows, 0), NX, MPI_DOUBLE, down, 1, &AT(T, 0, 0), NX, MPI_DOUBLE, up, 1,
               simulation, MPI_STATUS_IGNORE);
}

static void step(const double* T, double* next, int rows) {
  for (int y = 1; y <= rows; ++y)
    for (int x = 0; x < NX; ++x) {
      const double left = AT(T, y, x > 0 ? x - 1 : x), right = AT(T, y, x < NX - 1 ? x + 1 : x);
      AT(next, y, x) = AT(T, y, x) + 0.1 * (((left + right) + (AT(T, y - 1, x) + AT(T, y + 1, x))) -
                                            4.0 * AT(T, y, x));
    }
}

/* Open MPI may cut off what was printed just before MPI_Abort. */
static int end(int status) {
  MPI_Finalize();
  return status;
}

int main(int count, char** words) {
  int rank, size, failed;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (count != 3) {
    if (rank == 0) fprintf(stderr, "usage: heat LEAT.xml STEPS\n");
    return end(1);
  }
  /* region split */
  const leat_status status = leat_split(words[1], MPI_COMM_WORLD, &simulation);
  if (status == LEAT_SERVED) return MPI_Finalize();
  /* end region */
  if (status != LEAT_OK) return end(1);
  MPI_Comm_rank(simulation, &rank);
  MPI_Comm_size(simulation, &size);
  if (NY % size != 0) {
    if (rank == 0) fprintf(stderr, "heat: the number of ranks must divide %d\n", NY);
    return end(1);
  }
  const int steps = atoi(words[2]), rows = NY / size;
  start(plates[0], rank * rows, rows);
  start(plates[1], rank * rows, rows); /* the plate's edges keep their temperature */

  /* region set-up */
  const int64_t part[2] = {rows, rank * rows};
  failed = leat_init_mpi(words[1], simulation) != LEAT_OK;
  leat_set_ints("rows,before", part);
  /* end region */

  /* region restart */
  int64_t i = 0;
  leat_restart_step(&i); /* behind the newest checkpoint; 0 when there is none */
  if (i > 0) leat_read("temperature", plates[(i - 1) % 2]);
  /* end region */
  for (; i < steps; ++i) {
    double* T = plates[i % 2];
    if (i > 0) step(plates[(i - 1) % 2], T, rows);
    exchange_ghosts(T, rows, rank, size);
    /* region write */
    leat_set_double("t", 0.1 * i); /* seconds */
    leat_write("temperature", T);
    leat_end_iteration();
    /* end region */
  }

  failed |= leat_finalize() != LEAT_OK;
  MPI_Finalize();
  return failed;
}
