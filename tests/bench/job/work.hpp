/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulation of the job does between two outputs; a shared library too, for jobs in
 * Python. */
#ifndef LEAT_BENCH_WORK_H
#define LEAT_BENCH_WORK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes: a fixed amount of work, so that what takes the core or the caches away makes it last
 * longer. */
void leat_bench_work(int64_t units);
/* Units in a second of processor time of this thread: the most of some tries. */
double leat_bench_units_per_second(void);

/* base[i] of `count`: smooth, with noise in its lower bits, so that it compresses as fields do. All
 * are exact sums of powers of two: verify.py computes the same. */
void leat_bench_make_base(double* base, int64_t count);
/* field[i] = base[i] + 2048 * (rank + ranks * iteration): no two ranks or iterations have the same.
 */
void leat_bench_fill(double* field, const double* base, int64_t count, int64_t rank, int64_t ranks,
                     int64_t iteration);

#ifdef __cplusplus
}
#endif
#endif
