/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat leaves a plate whose edges are kept cold: dT/dt = d2T/dx2 + d2T/dy2 on the unit square, by explicit Euler steps on
 * a grid of n x n cells. Loops are parallel by OpenMP, in one process.
 *
 *     heat_openmp heat_openmp.xml 500        # steps
 *     heat_openmp heat_openmp.xml 500 128    # n, 64 else
 *     heat_openmp heat_openmp.xml 500 128 4  # after every 4th step one thread adds up the heat, which may never grow
 *
 * From T = sin(pi x) sin(pi y) the solution is known; it prints the largest error, which is a fourth where n is twice as
 * large and the steps four times as many, a checksum of the plate, the heat that is left, and how many seconds it took until
 * it had computed, and until all that was analysed had ended.
 */
#include <leat.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0.2 /* dt over the square of the spacing: stable below 0.25 */
#define AT(T, y, x) (T)[(size_t)(y) * (n + 1) + (x)]

static const double pi = 3.14159265358979323846;

static double exact(double t, double y, double x) {
  return exp(-2 * pi * pi * t) * sin(pi * y) * sin(pi * x);
}

/* Edges are 0, and stay so. */
static void start(double* T, int n) {
#pragma omp parallel for schedule(static)
  for (int y = 0; y <= n; ++y)
    for (int x = 0; x <= n; ++x)
      AT(T, y, x) =
          y == 0 || y == n || x == 0 || x == n ? 0 : exact(0, (double)y / n, (double)x / n);
}

static void step(const double* T, double* next, int n) {
#pragma omp parallel for schedule(static)
  for (int y = 1; y < n; ++y)
    for (int x = 1; x < n; ++x)
      AT(next, y, x) =
          AT(T, y, x) +
          STEP * (((AT(T, y, x - 1) + AT(T, y, x + 1)) + (AT(T, y - 1, x) + AT(T, y + 1, x))) -
                  4 * AT(T, y, x));
}

static double largest_error(const double* T, int n, double t) {
  double most = 0;
#pragma omp parallel for schedule(static) reduction(max : most)
  for (int y = 0; y <= n; ++y)
    for (int x = 0; x <= n; ++x)
      most = fmax(most, fabs(AT(T, y, x) - exact(t, (double)y / n, (double)x / n)));
  return most;
}

/* In order and compensated (Kahan 1965): the same bits on any number of threads, and of all that is added none is lost. */
static double heat_of(const double* T, int n) {
  double sum = 0, lost = 0;
  for (size_t i = 0; i < (size_t)(n + 1) * (n + 1); ++i) {
    const double more = T[i] - lost, next = sum + more;
    lost = (next - sum) - more;
    sum = next;
  }
  return sum / ((double)n * n);
}

/* One thread computes: the cores of the others have nothing to do. */
static double monitored_heat(const double* T, int n) {
  /* region idle */
  leat_idle_begin("heat");
  const double heat = heat_of(T, n);
  leat_idle_end();
  /* end region */
  return heat;
}

/* Of bits: it differs where anything differs. FNV-1a. */
static uint64_t checksum(const double* T, int n) {
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < (size_t)(n + 1) * (n + 1); ++i) {
    uint64_t bits;
    memcpy(&bits, &T[i], sizeof bits);
    sum = (sum ^ bits) * 0x100000001b3;
  }
  return sum;
}

int main(int count, char** words) {
  const int n = count > 3 ? atoi(words[3]) : 64;
  const int monitor = count > 4 ? atoi(words[4]) : 0;
  if (count < 3 || count > 5 || n < 2 || monitor < 0) {
    fprintf(stderr, "usage: heat_openmp LEAT.xml STEPS [N [MONITOR]]\n");
    return 2;
  }
  const int steps = atoi(words[2]);
  const size_t bytes = sizeof(double) * (n + 1) * (n + 1);
  double *T = malloc(bytes), *next = malloc(bytes);
  const double dt = STEP / ((double)n * n);
  start(T, n);
  start(next, n);
  double heat = INFINITY;

  /* region set-up */
  int failed = leat_init(words[1]) != LEAT_OK;
  leat_set_int("n", n);
  /* end region */
  const double begin = omp_get_wtime();
  for (int i = 0; i < steps && !failed; ++i) {
    /* region write */
    leat_set_double("t", i * dt);
    leat_write("T", T);
    leat_end_iteration();
    /* end region */
    step(T, next, n);
    double* const swap = T;
    T = next;
    next = swap;
    if (monitor > 0 && (i + 1) % monitor == 0) {
      const double before = heat;
      heat = monitored_heat(T, n);
      failed = !(heat <= before);
      if (failed) fprintf(stderr, "step %d: the heat has grown from %g to %g\n", i, before, heat);
    }
  }

  const double computed = omp_get_wtime() - begin;
  if (!failed)
    printf("error %.6e checksum %016llx heat %.17g\n", largest_error(T, n, steps * dt),
           (unsigned long long)checksum(T, n), heat_of(T, n));
  failed |= leat_finalize() != LEAT_OK;
  printf("computed %.4f ended %.4f\n", computed, omp_get_wtime() - begin);
  free(T);
  free(next);
  return failed;
}
