// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/draws.hpp"

#include <algorithm>
#include <cmath>

#include "lib/predict/machine.hpp"

namespace leat::predict {
namespace {

constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;
constexpr double kLn2 = 0.693147180559945309417;
// The first 32 bits of it, whose product with a small whole number is exact, and the rest.
constexpr double kLn2Front = 0x1.62e42fep-1, kLn2Rest = 0x1.f473de6af278fp-30;

// The output function of SplitMix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014.
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint64_t mixed_with(std::uint64_t key, std::int64_t word) {
  return mixed(key + kGoldenGamma * (static_cast<std::uint64_t>(word) + 1));
}

std::uint64_t key_of(std::uint64_t seed, Purpose purpose, std::int64_t place, std::int64_t index) {
  const std::uint64_t key = mixed_with(mixed(seed), static_cast<std::int64_t>(purpose));
  return mixed_with(mixed_with(key, place), index);
}

double fraction(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

double Draws::uniform(Purpose purpose, std::int64_t place, std::int64_t index) const {
  return fraction(key_of(seed_, purpose, place, index));
}

std::int64_t Draws::below(std::int64_t end, Purpose purpose, std::int64_t place,
                          std::int64_t index) const {
  return static_cast<std::int64_t>(uniform(purpose, place, index) * static_cast<double>(end));
}

// Marsaglia's polar method: G. Marsaglia, T. Bray, "A convenient method for generating normal
// variables", SIAM Review 6 (1964). Of the two numbers that it makes one is left out.
double Draws::normal(Purpose purpose, std::int64_t place, std::int64_t index) const {
  const std::uint64_t key = key_of(seed_, purpose, place, index);
  for (std::int64_t attempt = 0;; attempt += 2) {
    const double x = 2 * fraction(mixed_with(key, attempt)) - 1;
    const double y = 2 * fraction(mixed_with(key, attempt + 1)) - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * log_of(square) / square);
  }
}

std::int64_t Draws::log_normal_ns(std::int64_t median, double spread, Purpose purpose,
                                  std::int64_t place, std::int64_t index) const {
  if (spread == 0) return median;
  const double ns = static_cast<double>(median) * exp_of(spread * normal(purpose, place, index));
  return rounded(std::min(ns, static_cast<double>(kLongestNs)));
}

std::int64_t rounded(double number) { return static_cast<std::int64_t>(std::floor(number + 0.5)); }

// x = k ln 2 + r, and the series of e^r, whose term 14 is below 2^-53 for |r| <= ln 2 / 2.
double exp_of(double x) {
  const double k = std::floor(x / kLn2 + 0.5);
  const double r = (x - k * kLn2Front) - k * kLn2Rest;
  double sum = 1;
  for (int term = 14; term > 0; --term) sum = 1 + r / term * sum;
  return std::ldexp(sum, static_cast<int>(k));
}

// x = 2^k m with m about 1, and the series of the area hyperbolic tangent: ln m = 2 artanh of
// (m-1)/(m+1), which is at most 0.172.
double log_of(double x) {
  int k = 0;
  double m = std::frexp(x, &k);
  if (m < 0.70710678118654752) {
    m *= 2;
    --k;
  }
  const double t = (m - 1) / (m + 1), square = t * t;
  double sum = 0;
  for (int power = 23; power > 0; power -= 2) sum = sum * square + 1.0 / power;
  return k * kLn2 + 2 * t * sum;
}

}  // namespace leat::predict
