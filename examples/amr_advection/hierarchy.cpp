// SPDX-License-Identifier: Apache-2.0
#include "hierarchy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace {

constexpr double kUneven = 0.02;  // between neighbouring cells: refine

int wrapped(int i, int n) { return (i % n + n) % n; }

// Patches, by their places, that shall have finer ones on them.
class Marks {
 public:
  Marks() {
    for (int level = 0; level + 1 < kLevels; ++level)
      marked_[level].resize(patches_along(level) * patches_along(level));
  }

  void mark_around(int level, int y, int x, int coarser) {
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx) {
        const int n = patches_along(level);
        const int at_y = wrapped(y + dy, n) >> coarser, at_x = wrapped(x + dx, n) >> coarser;
        marked_[level - coarser][at_y * patches_along(level - coarser) + at_x] = true;
      }
  }
  bool is_marked(int level, int y, int x) const {
    return marked_[level][y * patches_along(level) + x];
  }

  // Around a patch with finer ones all patches of its level are there: neighbours differ by one level at most.
  void nest() {
    for (int level = kLevels - 2; level > 0; --level)
      for (int y = 0; y < patches_along(level); ++y)
        for (int x = 0; x < patches_along(level); ++x)
          if (is_marked(level, y, x)) mark_around(level, y, x, 1);
  }

 private:
  std::vector<bool> marked_[kLevels - 1];
};

bool is_uneven(const Hierarchy& all, const Patch& patch) {
  for (int y = 0; y < kCells; ++y)
    for (int x = 0; x < kCells; ++x)
      if (all.unevenness(patch.level, patch.y * kCells + y, patch.x * kCells + x) > kUneven)
        return true;
  return false;
}

Patch filled(const Hierarchy& from, int level, int y, int x) {
  Patch patch{level, y, x};
  for (int i = 0; i < kCells * kCells; ++i)
    patch.values[i] = from.value(level, y * kCells + i / kCells, x * kCells + i % kCells);
  return patch;
}

}  // namespace

Hierarchy::Hierarchy(std::vector<Patch> patches) : patches_(std::move(patches)) {
  for (int level = 0; level < kLevels; ++level)
    numbers_[level].assign(patches_along(level) * patches_along(level), -1);
  for (std::size_t i = 0; i < patches_.size(); ++i) {
    const Patch& patch = patches_[i];
    numbers_[patch.level][patch.y * patches_along(patch.level) + patch.x] = static_cast<int>(i);
  }
}

const Patch* Hierarchy::find(int level, int y, int x) const {
  const int n = cells_along(level);
  const int at_y = wrapped(y, n) / kCells, at_x = wrapped(x, n) / kCells;
  const int number = numbers_[level][at_y * patches_along(level) + at_x];
  return number < 0 ? nullptr : &patches_[number];
}

double Hierarchy::value(int level, int y, int x) const {
  const int n = cells_along(level);
  y = wrapped(y, n);
  x = wrapped(x, n);
  const Patch* const patch = find(level, y, x);
  if (!patch) return value(level - 1, y / 2, x / 2);
  return patch->values[y % kCells * kCells + x % kCells];
}

double Hierarchy::unevenness(int level, int y, int x) const {
  const double own = value(level, y, x);
  return std::max({std::abs(value(level, y - 1, x) - own), std::abs(value(level, y + 1, x) - own),
                   std::abs(value(level, y, x - 1) - own), std::abs(value(level, y, x + 1) - own)});
}

std::vector<Patch> regrid(const Hierarchy& old) {
  Marks marks;
  for (const Patch& patch : old.patches())
    if (patch.level + 1 < kLevels && is_uneven(old, patch))
      marks.mark_around(patch.level, patch.y, patch.x, 0);
  marks.nest();
  std::vector<Patch> patches;
  for (int level = 0; level < kLevels; ++level)
    for (int y = 0; y < patches_along(level); ++y)
      for (int x = 0; x < patches_along(level); ++x)
        if (level == 0 || marks.is_marked(level - 1, y / 2, x / 2))
          patches.push_back(filled(old, level, y, x));
  return patches;
}
