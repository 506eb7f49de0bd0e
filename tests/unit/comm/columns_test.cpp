// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/columns.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>

#include "lib/comm/message.hpp"

namespace leat::comm {
namespace {

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

double sum_of(const std::vector<double>& values) {
  ExactSum sum;
  for (const double each : values) sum.add(each);
  return sum.value();
}

TEST(ExactSum, RoundsOnceToTheNearest) {
  EXPECT_EQ(sum_of({}), 0.0);
  EXPECT_EQ(sum_of({0.1, 0.2, 0.3}), 0.6);  // 0.6000000000000001 by additions of doubles
  EXPECT_EQ(sum_of({1e308, 1e308, -1e308, -1e308, 5e-324}), 5e-324);
  EXPECT_EQ(sum_of({1, 1e100, 1, -1e100}), 2);
  EXPECT_EQ(sum_of({9007199254740992.0, 1}), 9007199254740992.0);  // a tie, to even
  EXPECT_EQ(sum_of({9007199254740992.0, 1, 5e-324}), 9007199254740994.0);
  EXPECT_EQ(sum_of({-9007199254740992.0, -1, -5e-324}), -9007199254740994.0);
  EXPECT_EQ(sum_of({DBL_MAX, DBL_MAX}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sum_of({DBL_MAX, DBL_MAX, -DBL_MAX}), DBL_MAX);
  EXPECT_EQ(sum_of({-3, 3}), 0);
}

TEST(ExactSum, OfWhatIsNotFiniteIsAsIeeeSays) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sum_of({1, infinity}), infinity);
  EXPECT_EQ(sum_of({1, -infinity}), -infinity);
  EXPECT_TRUE(std::isnan(sum_of({infinity, -infinity})));
  EXPECT_TRUE(std::isnan(sum_of({std::numeric_limits<double>::quiet_NaN(), infinity})));
}

// Of as many bits as there are, also those that a long double loses.
double any_double(std::mt19937_64* random) {
  while (true) {
    const double value = std::bit_cast<double>((*random)());
    if (std::isfinite(value)) return value;
  }
}

TEST(ExactSum, IsTheSameInAnyOrderAndThroughMessages) {
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 300; ++turn) {
    std::vector<double> values(1 + random() % 50);
    for (double& each : values) each = any_double(&random);
    if (turn % 3 == 0) values.push_back(-values.front());
    ExactSum whole;
    for (const double each : values) whole.add(each);
    std::shuffle(values.begin(), values.end(), random);
    std::vector<ExactSum> parts(1 + random() % 5);
    for (const double each : values) parts[random() % parts.size()].add(each);
    ExactSum of_parts;
    for (const ExactSum& each : parts) {
      const std::string bytes = bytes_of(Partial{{}, 0, RankSet(0), {}, 0, {Sums{{each}}}});
      const std::optional<Message> sent = message_in(bytes);
      ASSERT_TRUE(sent);
      of_parts.add(std::get<Sums>(std::get<Partial>(*sent).columns[0]).values[0]);
    }
    EXPECT_TRUE(whole.digits() == of_parts.digits());
    EXPECT_EQ(bits(whole.value()), bits(of_parts.value()));
  }
}

TEST(ExactSum, IsThatOfIntegersWhereTheseAreExact) {
  std::mt19937_64 random(8);
  for (int turn = 0; turn < 200; ++turn) {
    __int128 exact = 0;
    ExactSum sum;
    for (int i = 0; i < 100; ++i) {
      const auto value = static_cast<std::int64_t>(random() >> 12) * (random() % 2 ? 1 : -1);
      exact += value;
      sum.add(static_cast<double>(value));
    }
    EXPECT_EQ(sum.value(), static_cast<double>(static_cast<std::int64_t>(exact)));
  }
}

TEST(Columns, LeastAndLargestDoNotDependOnTheOrder) {
  Columns a{Reals{Op::min, {0.0, 1, NAN}}, Reals{Op::max, {-0.0, 1, 2}}};
  Columns b{Reals{Op::min, {-0.0, 2, 1}}, Reals{Op::max, {0.0, NAN, 3}}};
  ASSERT_TRUE(fit(a, b));
  Columns ab = a, ba = b;
  combine(&ab, b);
  combine(&ba, a);
  for (std::size_t column = 0; column < 2; ++column)
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(bits(std::get<Reals>(ab[column]).values[i]),
                bits(std::get<Reals>(ba[column]).values[i]));
  EXPECT_TRUE(std::signbit(std::get<Reals>(ab[0]).values[0]));
  EXPECT_FALSE(std::signbit(std::get<Reals>(ab[1]).values[0]));
}

TEST(Columns, FitWhereTypesOperationsAndLengthsAreTheSame) {
  const Columns one{Integers{Op::sum, {1, 2}}};
  EXPECT_TRUE(fit(one, {Integers{Op::sum, {5, 6}}}));
  EXPECT_FALSE(fit(one, {Integers{Op::min, {5, 6}}}));
  EXPECT_FALSE(fit(one, {Integers{Op::sum, {5}}}));
  EXPECT_FALSE(fit(one, {Reals{Op::min, {5, 6}}}));
  EXPECT_FALSE(fit(one, {}));
}

Outcome an_outcome() {
  return {3,
          1,
          {9, -4},
          RankSet(0, 40) - RankSet(7),
          {Integers{Op::bit_or, {1, -2}}, Reals{Op::max, {0.5}},
           Sums{{ExactSum(0.1), ExactSum(-3)}}, Gathered{{{3, "abc"}, {9, ""}}}}};
}

TEST(Messages, ArriveAsTheyWere) {
  const std::optional<Message> message = message_in(bytes_of(an_outcome()));
  ASSERT_TRUE(message);
  const auto& outcome = std::get<Outcome>(*message);
  EXPECT_EQ(outcome.round, (Round{9, -4}));
  EXPECT_EQ(outcome.of, an_outcome().of);
  EXPECT_EQ(std::get<Sums>(outcome.columns[2]).values[0].value(), 0.1);
  EXPECT_EQ(std::get<Gathered>(outcome.columns[3]).parts.at(3), "abc");

  View view{2, 1, 5, RankSet(0), RankSet(9), {{1, 17}, {2, 30}}};
  const std::optional<Message> up = message_in(bytes_of(Up{view, RankSet(1, 9), {}, 4, 3}));
  ASSERT_TRUE(up);
  EXPECT_EQ(std::get<Up>(*up).view, view);
}

TEST(Messages, CutOrChangedAreNoneOrOthersAndNeverMore) {
  const std::string whole = bytes_of(an_outcome());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(message_in(std::string_view(whole).substr(0, size))) << size;
  EXPECT_FALSE(message_in(whole + "x"));
  std::mt19937_64 random(3);
  for (int turn = 0; turn < 20000; ++turn) {
    std::string changed = whole;
    for (std::uint64_t i = 1 + random() % 4; i > 0; --i)
      changed[random() % changed.size()] = static_cast<char>(random());
    if (const std::optional<Message> message = message_in(changed)) {
      EXPECT_LE(bytes_of(*message).size(), changed.size() + 4096);
    }
  }
}

// Each sum is three bytes in a message, and a hundred in memory.
TEST(Messages, OfMoreSumsThanAnyServerContributesAreNone) {
  const Sums many{std::vector<ExactSum>((1 << 21) + 1)};
  EXPECT_FALSE(message_in(bytes_of(Partial{{}, 0, RankSet(0), {}, 0, {many}})));
}

}  // namespace
}  // namespace leat::comm
