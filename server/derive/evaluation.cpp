// SPDX-License-Identifier: Apache-2.0
#include "server/derive/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "lib/base/number_types.hpp"

// The loops are made for what the processor has; results are the same, as nothing is contracted.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define LEAT_FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define LEAT_FOR_EACH_PROCESSOR
#endif

namespace leat::server {
namespace {

using model::ArrayNode;
using model::ArrayOp;

template <class Number>
LEAT_FOR_EACH_PROCESSOR void widen(const Number* from, std::int64_t count, double* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<double>(from[i]);
}

// Beyond that doubles have not all whole numbers.
template <class Number>
std::int64_t beyond_doubles(Number number) {
  constexpr Number kMost = Number{1} << std::numeric_limits<double>::digits;
  if constexpr (std::is_signed_v<Number>) return number > kMost || number < -kMost;
  return number > kMost;
}

LEAT_FOR_EACH_PROCESSOR std::int64_t not_finite_of(const double* values, std::int64_t count) {
  std::int64_t all = 0;
  for (std::int64_t i = 0; i < count; ++i) all += !std::isfinite(values[i]);
  return all;
}

template <class Number>
std::int64_t narrow(const double* values, std::int64_t count, Number* to) {
  if constexpr (std::is_same_v<Number, double>) {
    std::copy(values, values + count, to);
    return 0;
  } else if constexpr (std::is_floating_point_v<Number>) {
    std::int64_t lost = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<Number>(values[i]);
      lost += std::isinf(to[i]) && !std::isinf(values[i]);
    }
    return lost;
  } else {
    constexpr Number kNothing = std::is_signed_v<Number> ? std::numeric_limits<Number>::min()
                                                         : std::numeric_limits<Number>::max();
    const double least =
        std::ldexp(std::is_signed_v<Number> ? -1.0 : 0.0, std::numeric_limits<Number>::digits);
    const double beyond = std::ldexp(1.0, std::numeric_limits<Number>::digits);
    std::int64_t lost = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = std::nearbyint(values[i]);
      const bool fits = value >= least && value < beyond;  // not so of NaN
      to[i] = fits ? static_cast<Number>(value) : kNothing;
      lost += !fits;
    }
    return lost;
  }
}

// One loop for each operation, which the compiler makes vectors of where it can.
#define LEAT_ARRAY_UNARY(id, name, result)                                                     \
  LEAT_FOR_EACH_PROCESSOR void compute_##id(const double* a, std::int64_t count, double* to) { \
    for (std::int64_t i = 0; i < count; ++i) {                                                 \
      const double x = a[i];                                                                   \
      to[i] = result;                                                                          \
    }                                                                                          \
  }
#define LEAT_ARRAY_BINARY(id, name, result)                                                       \
  LEAT_FOR_EACH_PROCESSOR void compute_##id(const double* a, const double* b, std::int64_t count, \
                                            double* to) {                                         \
    for (std::int64_t i = 0; i < count; ++i) {                                                    \
      const double x = a[i], y = b[i];                                                            \
      to[i] = result;                                                                             \
    }                                                                                             \
  }
#define LEAT_ARRAY_OPERATOR(id, sign, level, from, result) LEAT_ARRAY_BINARY(id, sign, result)
#include "lib/model/array_ops.def"

// Elements of an array that is part of another one, or has fewer dimensions, or is one number for all: calls use(i, place), for `count` of
// them.
template <class Use>
void each_place(const ArrayInput& input, const std::vector<std::int64_t>& extents,
                std::int64_t first, std::int64_t count, const Use& use) {
  const std::size_t dims = extents.size();
  std::array<std::int64_t, kMaxDims> at{};
  std::int64_t rest = first;
  for (std::size_t d = dims; d-- > 0;) {
    at[d] = rest % extents[d];
    rest /= extents[d];
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < dims; ++d) place += at[d] * input.steps[d];
    use(i, place);
    for (std::size_t d = dims; d-- > 0 && ++at[d] == extents[d];) at[d] = 0;
  }
}

}  // namespace

std::int64_t elements_of(const std::int64_t* extent, std::size_t dims) noexcept {
  std::int64_t all = 1;
  for (std::size_t d = 0; d < dims; ++d) all *= extent[d];
  return all;
}

void to_doubles(const void* data, ScalarType type, std::int64_t first, std::int64_t count,
                double* to) {
  with_number_type(type, [&](auto number) {
    widen(static_cast<const decltype(number)*>(data) + first, count, to);
  });
}

std::int64_t from_doubles(const double* values, std::int64_t count, ScalarType type, void* to,
                          std::int64_t first) {
  return with_number_type(type, [&](auto number) {
    return narrow(values, count, static_cast<decltype(number)*>(to) + first);
  });
}

Evaluation::Evaluation(const model::ArrayExpression& expression)
    : expression_(expression),
      room_(expression.nodes.size() * kAtOnce),
      values_(expression.nodes.size()) {}

void Evaluation::run(const std::vector<ArrayInput>& inputs,
                     const std::vector<std::int64_t>& extents, const Take& take) {
  extents_ = extents;
  inexact_ = 0;
  const std::int64_t all = elements_of(extents.data(), extents.size());
  const std::vector<ArrayNode>& nodes = expression_.nodes;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    double* const own = &room_[n * kAtOnce];
    values_[n] = own;
    if (nodes[n].op == ArrayOp::number) std::fill(own, own + kAtOnce, nodes[n].number);
  }
  for (std::int64_t first = 0; first < all; first += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, all - first);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      double* const own = &room_[n * kAtOnce];
      if (nodes[n].op == ArrayOp::number) continue;
      if (nodes[n].op != ArrayOp::input) {
        compute(nodes[n], count, own);
        continue;
      }
      const ArrayInput& input = inputs[nodes[n].a];
      const bool as_it_is = input.is_like_result && input.type == ScalarType::float64;
      values_[n] = as_it_is ? static_cast<const double*>(input.data) + first : own;
      if (!as_it_is) load(input, first, count, own);
    }
    take(first, values_of(expression_.result), count);
  }
}

bool Evaluation::was_finite(std::int64_t i) const noexcept {
  for (std::size_t n = 0; n < values_.size(); ++n) {
    if (expression_.nodes[n].op == ArrayOp::input && !std::isfinite(values_[n][i])) return false;
  }
  return true;
}

// A name alone is what it was made of.
std::int64_t Evaluation::count_not_finite(const double* values, std::int64_t count) const noexcept {
  if (expression_.is_name() || not_finite_of(values, count) == 0) return 0;
  std::int64_t made = 0;
  for (std::int64_t i = 0; i < count; ++i) made += !std::isfinite(values[i]) && was_finite(i);
  return made;
}

void Evaluation::load(const ArrayInput& input, std::int64_t first, std::int64_t count, double* to) {
  with_number_type(input.type, [&](auto number) {
    using Number = decltype(number);
    const auto* const from = static_cast<const Number*>(input.data);
    if (input.is_like_result) {
      widen(from + first, count, to);
      if constexpr (std::is_integral_v<Number> && sizeof(Number) == sizeof(double)) {
        for (std::int64_t i = first; i < first + count; ++i) inexact_ += beyond_doubles(from[i]);
      }
      return;
    }
    each_place(input, extents_, first, count, [&](std::int64_t i, std::int64_t place) {
      to[i] = static_cast<double>(from[place]);
      if constexpr (std::is_integral_v<Number> && sizeof(Number) == sizeof(double))
        inexact_ += beyond_doubles(from[place]);
    });
  });
}

void copy_elements(const ArrayInput& input, const std::vector<std::int64_t>& extents, void* to) {
  const std::size_t bytes = scalar_bytes(input.type);
  const auto* const from = static_cast<const char*>(input.data);
  auto* const out = static_cast<char*>(to);
  const std::int64_t all = elements_of(extents.data(), extents.size());
  if (input.is_like_result) {
    std::copy_n(from, static_cast<std::size_t>(all) * bytes, out);
    return;
  }
  each_place(input, extents, 0, all, [&](std::int64_t i, std::int64_t place) {
    std::copy_n(from + place * static_cast<std::ptrdiff_t>(bytes), bytes,
                out + i * static_cast<std::ptrdiff_t>(bytes));
  });
}

void Evaluation::compute(const ArrayNode& node, std::int64_t count, double* to) const {
  const double* const a = values_of(node.a);
  const double* const b = values_of(node.b);
  switch (node.op) {
    case ArrayOp::input:
    case ArrayOp::number:
      return;
    case ArrayOp::negative:
      for (std::int64_t i = 0; i < count; ++i) to[i] = -a[i];
      return;
    case ArrayOp::choice: {
      const double* const c = values_of(node.c);
      for (std::int64_t i = 0; i < count; ++i) to[i] = a[i] != 0 ? b[i] : c[i];
      return;
    }
#define LEAT_ARRAY_UNARY(id, name, result) \
  case ArrayOp::id:                        \
    return compute_##id(a, count, to);
#define LEAT_ARRAY_BINARY(id, name, result) \
  case ArrayOp::id:                         \
    return compute_##id(a, b, count, to);
#define LEAT_ARRAY_OPERATOR(id, sign, level, from, result) LEAT_ARRAY_BINARY(id, sign, result)
#include "lib/model/array_ops.def"
  }
}

}  // namespace leat::server
