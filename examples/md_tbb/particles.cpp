// SPDX-License-Identifier: Apache-2.0
#include "particles.hpp"

#include <tbb/blocked_range.h>
#include <tbb/blocked_range3d.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace {

constexpr double kSpeed = 2.0;  // of a particle along an axis, at most

double shortest(double distance, double box) {
  return distance > box / 2 ? distance - box : distance < -box / 2 ? distance + box : distance;
}

// What is left of a position that has left the box by less than its length.
double wrapped(double place, double box) {
  place = place < 0 ? place + box : place;
  return place >= box ? place - box : place;
}

struct Pair {
  double potential, force;  // the force for each unit of distance
};

Pair lennard_jones(double square) {
  const double third = 1 / (square * square * square), distance = std::sqrt(square);
  const double force = 24 * (2 * third * third - third) / distance;
  return {4 * (third * third - third), force / distance};
}

// Both go to zero at kReach. Source: Allen, Tildesley: Computer Simulation of Liquids, section 5.2.
Pair shifted(double square) {
  static const Pair end = lennard_jones(kReach * kReach);
  static const double end_force = end.force * kReach;
  const Pair pair = lennard_jones(square);
  const double distance = std::sqrt(square);
  return {pair.potential - end.potential + (distance - kReach) * end_force,
          pair.force - end_force / distance};
}

template <class Work>
void for_each(std::size_t count, Work work) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count), [&](const auto& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) work(i);
  });
}

}  // namespace

Particles::Particles(int side) : box_(side * kLattice), cells_(static_cast<int>(box_ / kReach)) {
  std::mt19937_64 dice;
  const auto speed = [&dice] { return kSpeed * (static_cast<double>(dice() >> 11) / 0x1p52 - 1); };
  constexpr double kCorners[4][3] = {{0, 0, 0}, {.5, .5, 0}, {.5, 0, .5}, {0, .5, .5}};
  for (int cell = 0; cell < side * side * side; ++cell)
    for (const auto& corner : kCorners) {
      const double z = cell / (side * side), y = cell / side % side, x = cell % side;
      positions_.push_back(
          {kLattice * (z + corner[0]), kLattice * (y + corner[1]), kLattice * (x + corner[2])});
      velocities_.push_back({speed(), speed(), speed()});
    }
  const Vector all = momentum();
  for (Vector& velocity : velocities_)
    for (int axis = 0; axis < 3; ++axis) velocity[axis] -= all[axis] / static_cast<double>(count());
  forces_.resize(count());
  potentials_.resize(count());
  sorted_.resize(count());
  order_.resize(count());
  sort();
  attract();
}

void Particles::step(double dt) {
  for_each(count(), [&](std::size_t i) {
    for (int axis = 0; axis < 3; ++axis) {
      velocities_[i][axis] += dt / 2 * forces_[i][axis];
      positions_[i][axis] = wrapped(positions_[i][axis] + dt * velocities_[i][axis], box_);
    }
  });
  sort();
  attract();
  for_each(count(), [&](std::size_t i) {
    for (int axis = 0; axis < 3; ++axis) velocities_[i][axis] += dt / 2 * forces_[i][axis];
  });
}

std::size_t Particles::cell_of(const Vector& position) const {
  std::size_t number = 0;
  for (const double place : position)
    number = number * cells_ + std::min(cells_ - 1, static_cast<int>(place / box_ * cells_));
  return number;
}

// Not parallel: short, and all the cores but one are free meanwhile.
void Particles::sort() {
  begins_.assign(static_cast<std::size_t>(cells_) * cells_ * cells_ + 1, 0);
  for (const Vector& position : positions_) ++begins_[cell_of(position) + 1];
  for (std::size_t cell = 1; cell < begins_.size(); ++cell) begins_[cell] += begins_[cell - 1];
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (std::size_t i = 0; i < count(); ++i) {
    const std::size_t place = next[cell_of(positions_[i])]++;
    order_[place] = i;
    sorted_[place] = positions_[i];
  }
}

// Each pair twice, once for either particle: so no two threads add to the same force, and the order of the sums is
// always the same.
void Particles::attract() {
  const tbb::blocked_range3d<int> all(0, cells_, 0, cells_, 0, cells_);
  tbb::parallel_for(all, [this](const tbb::blocked_range3d<int>& range) {
    for (int z = range.pages().begin(); z < range.pages().end(); ++z)
      for (int y = range.rows().begin(); y < range.rows().end(); ++y)
        for (int x = range.cols().begin(); x < range.cols().end(); ++x) attract_in(z, y, x);
  });
}

struct Particles::Near {
  std::array<std::size_t, 27> cells;

  Near(int z, int y, int x, int side) {
    for (int i = 0; i < 27; ++i) {
      const int other[3] = {z + i / 9 - 1, y + i / 3 % 3 - 1, x + i % 3 - 1};
      std::size_t number = 0;
      for (const int along : other) number = number * side + (along + side) % side;
      cells[i] = number;
    }
  }
};

void Particles::attract_in(int z, int y, int x) {
  const Near near(z, y, x, cells_);
  const std::size_t own = near.cells[13];
  for (std::size_t i = begins_[own]; i < begins_[own + 1]; ++i) {
    Vector force{};
    double potential = 0;
    for (const std::size_t cell : near.cells)
      for (std::size_t j = begins_[cell]; j < begins_[cell + 1]; ++j) {
        Vector away;
        double square = 0;
        for (int axis = 0; axis < 3; ++axis) {
          away[axis] = shortest(sorted_[i][axis] - sorted_[j][axis], box_);
          square += away[axis] * away[axis];
        }
        if (square >= kReach * kReach || i == j) continue;
        const Pair pair = shifted(square);
        potential += pair.potential;
        for (int axis = 0; axis < 3; ++axis) force[axis] += pair.force * away[axis];
      }
    forces_[order_[i]] = force;
    potentials_[order_[i]] = potential;
  }
}

double Particles::energy() const {
  double sum = 0;
  for (std::size_t i = 0; i < count(); ++i) {
    sum += potentials_[i] / 2;
    for (const double speed : velocities_[i]) sum += speed * speed / 2;
  }
  return sum / static_cast<double>(count());
}

Vector Particles::momentum() const {
  Vector sum{};
  for (const Vector& velocity : velocities_)
    for (int axis = 0; axis < 3; ++axis) sum[axis] += velocity[axis];
  return sum;
}
