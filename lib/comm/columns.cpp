// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/columns.hpp"

#include <algorithm>
#include <cmath>

namespace leat::comm {
namespace {

bool fits(const Integers& a, const Integers& b) {
  return a.op == b.op && a.values.size() == b.values.size();
}
bool fits(const Reals& a, const Reals& b) {
  return a.op == b.op && a.values.size() == b.values.size();
}
bool fits(const Sums& a, const Sums& b) { return a.values.size() == b.values.size(); }
bool fits(const Gathered&, const Gathered&) { return true; }

std::int64_t combined(Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
    case Op::bit_or:
      return a | b;
    case Op::sum:
      break;
  }
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// -0 is less than +0, so that the order of arrival shows nowhere.
double combined(Op op, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  const bool a_is_less = a < b || (a == b && std::signbit(a));
  return (op == Op::min) == a_is_less ? a : b;
}

void add(Integers* into, const Integers& more) {
  for (std::size_t i = 0; i < more.values.size(); ++i)
    into->values[i] = combined(into->op, into->values[i], more.values[i]);
}
void add(Reals* into, const Reals& more) {
  for (std::size_t i = 0; i < more.values.size(); ++i)
    into->values[i] = combined(into->op, into->values[i], more.values[i]);
}
void add(Sums* into, const Sums& more) {
  for (std::size_t i = 0; i < more.values.size(); ++i) into->values[i].add(more.values[i]);
}
void add(Gathered* into, const Gathered& more) {
  into->parts.insert(more.parts.begin(), more.parts.end());
}

std::size_t bytes(const Integers& column) { return column.values.size() * 8; }
std::size_t bytes(const Reals& column) { return column.values.size() * 8; }
std::size_t bytes(const Sums& column) {
  std::size_t all = 0;
  for (const ExactSum& each : column.values) all += 16 + each.digits().digits.size() * 8;
  return all;
}
std::size_t bytes(const Gathered& column) {
  std::size_t all = 0;
  for (const auto& [rank, text] : column.parts) all += 8 + text.size();
  return all;
}

}  // namespace

bool fit(const Columns& a, const Columns& b) {
  const auto column_fits = [](const Column& left, const Column& right) {
    return std::visit(
        [&right](const auto& own) {
          const auto* const other = std::get_if<std::decay_t<decltype(own)>>(&right);
          return other && fits(own, *other);
        },
        left);
  };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), column_fits);
}

std::size_t bytes_in(const Columns& columns) {
  std::size_t all = 0;
  for (const Column& each : columns)
    all += 16 + std::visit([](const auto& column) { return bytes(column); }, each);
  return all;
}

void combine(Columns* into, const Columns& more) {
  for (std::size_t i = 0; i < more.size(); ++i)
    std::visit([&](auto& own) { add(&own, std::get<std::decay_t<decltype(own)>>(more[i])); },
               (*into)[i]);
}

}  // namespace leat::comm
