// SPDX-License-Identifier: Apache-2.0
#include "lib/base/seconds.hpp"

#include <cmath>
#include <cstdio>

namespace leat {
namespace {

std::string number(double value, const char* unit) {
  char text[32];
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit);
  return text;
}

std::string two(long long whole, const char* unit, long long part, const char* smaller) {
  std::string text = std::to_string(whole) + " " + unit;
  return part == 0 ? text : text + " " + std::to_string(part) + " " + smaller;
}

}  // namespace

std::string format_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-6) return number(seconds * 1e9, "ns");
  if (seconds < 0.9995e-3) return number(seconds * 1e6, "us");
  if (seconds < 0.9995) return number(seconds * 1e3, "ms");
  if (seconds < 119.5) return number(seconds, "s");
  const long long whole = std::llround(seconds);
  if (whole < 7200) return two(whole / 60, "min", whole % 60, "s");
  return two(whole / 3600, "h", whole % 3600 / 60, "min");
}

}  // namespace leat
