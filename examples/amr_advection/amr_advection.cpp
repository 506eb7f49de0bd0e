// SPDX-License-Identifier: Apache-2.0
// A drop of dye is carried across a square with periodic edges: du/dt + v . grad u = 0, with limited upwind fluxes on
// patches of 8 x 8 cells, finer where the dye is uneven. Each rank computes its share of the patches; all ranks know
// all of them.
//
//     mpirun -n 4 amr_advection amr_advection.xml 400
#include <leat_mpi.h>
#include <mpi.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "hierarchy.hpp"

namespace {

constexpr double kVelocity[2] = {0.5, 1.0};  // m/s along y and x
constexpr int kRegridEvery = 4;              // steps: the dye moves by less than two fine cells

struct Share {  // of the patches
  int first, end;
};

Share share_of(int rank, int ranks, std::size_t patches) {
  const auto count = static_cast<long>(patches);
  return {static_cast<int>(count * rank / ranks), static_cast<int>(count * (rank + 1) / ranks)};
}

double smaller_slope(double a, double b) {
  return a * b <= 0 ? 0 : std::abs(a) < std::abs(b) ? a : b;
}

// What goes through the low face of a cell along axis 0 (y) or 1 (x), for each metre and second. The same for both cells
// at a face, fine or coarse, so that no dye is lost where levels meet.
double flux(const Hierarchy& all, int axis, int level, int y, int x, double dt) {
  const int dy = axis == 0, dx = axis == 1;
  const bool is_fine = level + 1 < kLevels && (all.has(level + 1, 2 * y, 2 * x) ||
                                               all.has(level + 1, 2 * y - dy, 2 * x - dx));
  if (is_fine)
    return (flux(all, axis, level + 1, 2 * y, 2 * x, dt) +
            flux(all, axis, level + 1, 2 * y + dx, 2 * x + dy, dt)) /
           2;
  const double here = all.value(level, y - dy, x - dx);  // the dye comes from there
  const double slope =
      smaller_slope(here - all.value(level, y - 2 * dy, x - 2 * dx), all.value(level, y, x) - here);
  const double courant = kVelocity[axis] * dt / spacing(level);
  return kVelocity[axis] * (here + (1 - courant) / 2 * slope);
}

Patch advanced(const Hierarchy& all, Patch patch, double dt) {
  const int level = patch.level;
  for (int i = 0; i < kCells * kCells; ++i) {
    const int y = patch.y * kCells + i / kCells, x = patch.x * kCells + i % kCells;
    const double out = flux(all, 0, level, y + 1, x, dt) - flux(all, 0, level, y, x, dt) +
                       flux(all, 1, level, y, x + 1, dt) - flux(all, 1, level, y, x, dt);
    patch.values[i] -= dt / spacing(level) * out;
  }
  return patch;
}

// Computes this rank's share, and gets those of the others.
Hierarchy step(const Hierarchy& all, int rank, int ranks, double dt) {
  std::vector<Patch> patches = all.patches();
  const Share own = share_of(rank, ranks, patches.size());
  for (int i = own.first; i < own.end; ++i) patches[i] = advanced(all, patches[i], dt);
  std::vector<int> bytes, offsets;
  for (int r = 0; r < ranks; ++r) {
    const Share share = share_of(r, ranks, patches.size());
    offsets.push_back(share.first * static_cast<int>(sizeof(Patch)));
    bytes.push_back((share.end - share.first) * static_cast<int>(sizeof(Patch)));
  }
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, patches.data(), bytes.data(), offsets.data(),
                 MPI_BYTE, MPI_COMM_WORLD);
  return Hierarchy(std::move(patches));
}

std::array<double, kCells * kCells> unevenness_of(const Hierarchy& all, const Patch& patch) {
  std::array<double, kCells * kCells> values;
  for (int i = 0; i < kCells * kCells; ++i)
    values[i] =
        all.unevenness(patch.level, patch.y * kCells + i / kCells, patch.x * kCells + i % kCells);
  return values;
}

// region write
// The patches that this rank has now. They are its blocks 0, 1, 2, ..., whatever was what before.
void write_patches(const Hierarchy& all, const Share& own) {
  for (int i = own.first; i < own.end; ++i) {
    const Patch& patch = all.patches()[i];
    const auto block = static_cast<uint32_t>(i - own.first);
    const int64_t first_cell[2] = {patch.y * kCells, patch.x * kCells};  // of those of its level
    leat_set_level("square", block, patch.level, first_cell);
    leat_write_block("dye", block, patch.values.data());
    leat_write_block("unevenness", block, unevenness_of(all, patch).data());
  }
  leat_end_iteration();
}
// end region

// A drop around (0.3 m, 0.3 m); of a coarse cell the mean of the finest ones.
double start(int level, int y, int x) {
  if (level + 1 < kLevels)
    return (start(level + 1, 2 * y, 2 * x) + start(level + 1, 2 * y, 2 * x + 1) +
            start(level + 1, 2 * y + 1, 2 * x) + start(level + 1, 2 * y + 1, 2 * x + 1)) /
           4;
  const double to_y = (y + 0.5) * spacing(level) - 0.3, to_x = (x + 0.5) * spacing(level) - 0.3;
  return std::exp(-(to_y * to_y + to_x * to_x) / (2 * 0.05 * 0.05));
}

Hierarchy with_start(std::vector<Patch> patches) {
  for (Patch& patch : patches)
    for (int i = 0; i < kCells * kCells; ++i)
      patch.values[i] =
          start(patch.level, patch.y * kCells + i / kCells, patch.x * kCells + i % kCells);
  return Hierarchy(std::move(patches));
}

Hierarchy at_start() {
  std::vector<Patch> coarse;
  for (int i = 0; i < kPatches * kPatches; ++i) coarse.push_back({0, i / kPatches, i % kPatches});
  Hierarchy all = with_start(std::move(coarse));
  for (int level = 1; level < kLevels; ++level) all = with_start(regrid(all));
  return all;
}

double dye_in(const Hierarchy& all) {
  double sum = 0;
  for (const Patch& patch : all.patches())
    for (int i = 0; i < kCells * kCells; ++i) {
      const int y = patch.y * kCells + i / kCells, x = patch.x * kCells + i % kCells;
      const bool is_covered = patch.level + 1 < kLevels && all.has(patch.level + 1, 2 * y, 2 * x);
      if (!is_covered) sum += patch.values[i] * spacing(patch.level) * spacing(patch.level);
    }
  return sum;
}

}  // namespace

int main(int count, char** words) {
  int rank = 0, ranks = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count != 3) {
    if (rank == 0) std::fprintf(stderr, "usage: amr_advection LEAT.xml STEPS\n");
    MPI_Finalize();
    return 1;
  }
  const int steps = std::atoi(words[2]);
  const double dt = 0.4 * spacing(kLevels - 1) / (kVelocity[0] + kVelocity[1]);
  Hierarchy all = at_start();
  const double before = dye_in(all);
  bool failed = leat_init_mpi(words[1], MPI_COMM_WORLD) != LEAT_OK;
  leat_set_double("dx", spacing(0));
  for (int i = 0; i < steps; ++i) {
    leat_set_double("t", i * dt);
    write_patches(all, share_of(rank, ranks, all.patches().size()));
    all = step(all, rank, ranks, dt);
    if ((i + 1) % kRegridEvery == 0) all = Hierarchy(regrid(all));
  }
  failed = leat_finalize() != LEAT_OK || failed;
  if (rank == 0)
    std::printf("dye: %.15g, relative change: %.3g\n", dye_in(all),
                std::abs(dye_in(all) / before - 1));
  MPI_Finalize();
  return failed;
}
