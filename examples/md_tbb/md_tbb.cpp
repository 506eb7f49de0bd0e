// SPDX-License-Identifier: Apache-2.0
// A crystal of Lennard-Jones particles melts: molecular dynamics whose loops are parallel by oneTBB, in one process.
//
//     md_tbb md_tbb.xml 200            # steps
//     md_tbb md_tbb.xml 200 12 0.002   # 4 * 12^3 particles (8 else), steps of 0.002 (0.004 else)
//
// It prints by how much the energy has changed at most, the momentum, a checksum of where all particles are, and how many
// seconds it took until it had computed, and until all that was analysed had ended.
#include <leat.h>
#include <leat_tbb.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "particles.hpp"

namespace {

struct Choices {
  const char* xml;
  int steps, side = 8;
  double dt = 0.004;
};

// region set-up
bool start_leat(const Choices& chosen, const Particles& particles) {
  const bool is_fine = leat_init(chosen.xml) == LEAT_OK;
  leat_set_int("n", static_cast<int64_t>(particles.positions().size()));
  return is_fine;
}
// end region

// region write
void write(const Particles& particles, double t) {
  leat_set_double("t", t);
  leat_write("x", particles.positions().data()->data());
  leat_write("v", particles.velocities().data()->data());
  leat_end_iteration();
}
// end region

// Of bits: it differs where anything differs. FNV-1a.
std::uint64_t checksum(const Particles& particles) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const Vector& position : particles.positions())
    for (const double place : position) {
      std::uint64_t bits;
      std::memcpy(&bits, &place, sizeof bits);
      sum = (sum ^ bits) * 0x100000001b3;
    }
  return sum;
}

double largest(const Vector& vector) {
  double most = 0;
  for (const double along : vector) most = std::max(most, std::abs(along));
  return most;
}

void run(const Choices& chosen, Particles& particles) {
  const double energy = particles.energy();
  double drift = 0;
  for (int i = 0; i < chosen.steps; ++i) {
    write(particles, i * chosen.dt);
    // region parallel
    leat::parallel([&] { particles.step(chosen.dt); });
    // end region
    drift = std::max(drift, std::abs(particles.energy() - energy));
  }
  std::printf("energy %.9f drift %.3e momentum %.3e checksum %016llx\n", energy, drift,
              largest(particles.momentum()), static_cast<unsigned long long>(checksum(particles)));
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int count, char** words) {
  if (count < 3 || count > 5) {
    std::fprintf(stderr, "usage: md_tbb LEAT.xml STEPS [SIDE [DT]]\n");
    return 2;
  }
  Choices chosen{words[1], std::atoi(words[2])};
  if (count > 3) chosen.side = std::atoi(words[3]);
  if (count > 4) chosen.dt = std::atof(words[4]);
  if (chosen.side < kLeastSide) {
    std::fprintf(stderr, "md_tbb: SIDE is at least %d\n", kLeastSide);
    return 2;
  }
  Particles particles(chosen.side);
  bool is_fine = start_leat(chosen, particles);
  const auto begin = std::chrono::steady_clock::now();
  if (is_fine) run(chosen, particles);
  const double computed = seconds_since(begin);
  is_fine = leat_finalize() == LEAT_OK && is_fine;
  std::printf("computed %.4f ended %.4f\n", computed, seconds_since(begin));  // seconds
  return is_fine ? 0 : 1;
}
