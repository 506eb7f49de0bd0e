// SPDX-License-Identifier: Apache-2.0
// Particles that attract and repel each other as Lennard-Jones says, in a periodic box, in his units: masses, sigma and
// epsilon are 1. The potential is cut off at kReach, shifted so that the force goes to zero there, which keeps the
// energy of a run what it was.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

constexpr double kReach = 2.5;
constexpr double kLattice = 1.7;  // side of a cell of the face-centred crystal at the start
constexpr int kLeastSide = 5;     // of those: three cells of kReach along each axis

using Vector = std::array<double, 3>;

class Particles {
 public:
  /// A crystal of 4 * side^3 particles, whose velocities are the same in each run and sum up to zero.
  explicit Particles(int side);

  /// Velocity Verlet. Loops over particles are parallel, and all results are the same bits on any number of threads.
  void step(double dt);

  const std::vector<Vector>& positions() const { return positions_; }  ///< in [0, box)
  const std::vector<Vector>& velocities() const { return velocities_; }
  double energy() const;  ///< of one particle, on average
  Vector momentum() const;

 private:
  struct Near;  // the sorted particles around a cell

  std::size_t count() const { return positions_.size(); }
  std::size_t cell_of(const Vector& position) const;
  void sort();
  void attract();
  void attract_in(int z, int y, int x);

  double box_;
  int cells_;  // along each axis
  std::vector<Vector> positions_, velocities_, forces_;
  std::vector<double> potentials_;  // each pair's in both
  std::vector<std::size_t> begins_, order_;
  std::vector<Vector> sorted_;  // positions by cell, as order_ says
};
