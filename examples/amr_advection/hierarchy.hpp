// SPDX-License-Identifier: Apache-2.0
// Patches of a square with periodic edges, on levels of which each is twice as fine as the one before. Where there are
// fine patches there are coarse ones below them, whose cells are the means of the fine ones.
#pragma once

#include <array>
#include <vector>

constexpr int kCells = 8;    // of a patch along an edge
constexpr int kPatches = 8;  // of level 0 along an edge of the square, of 1 m
constexpr int kLevels = 3;

struct Patch {
  int level, y, x;  // its place among the patches of the level
  std::array<double, kCells * kCells> values{};
};

// Along an edge of the square.
inline int patches_along(int level) { return kPatches << level; }
inline int cells_along(int level) { return kCells * patches_along(level); }
inline double spacing(int level) { return 1.0 / cells_along(level); }

class Hierarchy {
 public:
  explicit Hierarchy(std::vector<Patch> patches);

  // By level.
  const std::vector<Patch>& patches() const { return patches_; }
  // Whether there is a patch with this cell; cells beyond an edge are those at the other one.
  bool has(int level, int y, int x) const { return find(level, y, x) != nullptr; }
  // Of a cell; where there is no patch of its level, of the coarser cell that it lies in.
  double value(int level, int y, int x) const;
  // The largest difference of a cell to its neighbours.
  double unevenness(int level, int y, int x) const;

 private:
  const Patch* find(int level, int y, int x) const;

  std::vector<Patch> patches_;
  std::vector<int> numbers_[kLevels];  // by place: of the patch, or -1
};

// The patches for these values: coarse ones everywhere, finer ones where coarser ones are uneven, and around them.
std::vector<Patch> regrid(const Hierarchy& old);
