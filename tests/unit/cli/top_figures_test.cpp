// SPDX-License-Identifier: Apache-2.0
#include "server/cli/top/figures.hpp"

#include <gtest/gtest.h>

#include "tests/unit/cli/answers.hpp"

namespace leat::cli::top {
namespace {

// A point each quarter of a second, `of` seconds after the first.
template <class Of>
History history_over(double seconds, Of of, Answers* last) {
  History history;
  for (double at = 0; at <= seconds; at += 0.25) {
    *last = answers_of(of(at));
    history.add(100 + at, *last);
  }
  return history;
}

TEST(TopFigures, OfOneAnswerHaveTheRatesOfTheServer) {
  History history;
  const Answers one = answers_of({.complete = 7, .bytes = 70});
  history.add(1, one);
  const Figures figures = history.figures(one);
  EXPECT_DOUBLE_EQ(*figures.iterations_per_minute, 180);
  EXPECT_DOUBLE_EQ(*figures.bytes_per_second, 4);
  EXPECT_FALSE(figures.full_in_seconds || figures.waited_share);
  EXPECT_FALSE(figures.nodes.front().share);
}

TEST(TopFigures, RatesAreOfTheLastSecondsWhereManyIterationsCome) {
  Answers last;
  const History history = history_over(
      30,
      [](double at) {
        const double late = std::max(0.0, at - 20);  // 1 a second, then 10 a second
        const auto complete = static_cast<std::uint64_t>(std::min(at, 20.0) + 10 * late);
        return RunAt{.uptime = at, .complete = complete, .bytes = 100 * complete};
      },
      &last);
  const Figures figures = history.figures(last);
  EXPECT_NEAR(*figures.iterations_per_minute, 600, 15);
  EXPECT_NEAR(*figures.bytes_per_second, 1000, 25);
}

TEST(TopFigures, RatesAreOfALongerTimeWhereIterationsAreSlow) {
  Answers last;
  const History history = history_over(
      120,
      [](double at) {
        return RunAt{.uptime = at, .complete = static_cast<std::uint64_t>(at / 10)};
      },
      &last);
  EXPECT_NEAR(*history.figures(last).iterations_per_minute, 6, 0.6);
}

TEST(TopFigures, AnotherServerBeginsAnew) {
  History history;
  history.add(1, answers_of({.uptime = 100, .complete = 1000}));
  const Answers now = answers_of({.uptime = 1, .complete = 3, .bytes = 1});
  history.add(2, now);
  EXPECT_DOUBLE_EQ(*history.figures(now).iterations_per_minute, 180) << "that of the server";
}

// Up and down by 200 with each iteration.
std::uint64_t sawtooth(double at) {
  return static_cast<std::uint64_t>(200 * (at - std::floor(at)));
}

TEST(TopFigures, ABufferThatOnlyGoesUpAndDownIsNotFilling) {
  Answers last;
  const History history = history_over(
      40, [](double at) { return RunAt{.uptime = at, .used_bytes = 300 + sawtooth(at)}; }, &last);
  EXPECT_FALSE(history.figures(last).full_in_seconds);
}

TEST(TopFigures, WhenAFillingBufferWillBeFullIsSaid) {
  Answers last;
  const History history = history_over(
      40,
      [](double at) {
        return RunAt{.uptime = at,
                     .used_bytes = static_cast<std::uint64_t>(10 * at) + sawtooth(at)};
      },
      &last);
  // At its highest 10 x 40 + 150 of 1000 now, and 10 more in each second.
  EXPECT_NEAR(*history.figures(last).full_in_seconds, 45, 3);
}

TEST(TopFigures, ABufferThatEmptiesIsNotFilling) {
  Answers last;
  const History history = history_over(
      40,
      [](double at) {
        return RunAt{.uptime = at,
                     .used_bytes = static_cast<std::uint64_t>(800 - 10 * at) + sawtooth(at)};
      },
      &last);
  EXPECT_FALSE(history.figures(last).full_in_seconds);
}

TEST(TopFigures, ANodeOfThePipelineHasItsTimeOfTheLastSeconds) {
  Answers last;
  const History history = history_over(
      20,
      [](double at) {
        const auto calls = static_cast<std::uint64_t>(4 * at);
        return RunAt{.uptime = at, .complete = calls, .calls = calls, .seconds = 0.5 * at};
      },
      &last);
  const PipelineNode store = history.figures(last).nodes.front();
  EXPECT_EQ(store.name, "out");
  EXPECT_NEAR(*store.calls_per_second, 4, 0.01);
  EXPECT_NEAR(*store.seconds_per_call, 0.125, 0.001);
  EXPECT_NEAR(*store.share, 0.5, 0.001);
}

TEST(TopFigures, AStoreIsBehindByWhatIsDueAndNotDone) {
  Answers answers = answers_of({.complete = 25});
  History history;
  history.add(1, answers);
  EXPECT_EQ(history.figures(answers).nodes.front().behind, 0U);
  Json& store = answers.status["stores"][0];
  store["done"] = 20;
  EXPECT_EQ(history.figures(answers).nodes.front().behind, 4U) << "21 to 24";
  store["every"] = 10;
  EXPECT_EQ(history.figures(answers).nodes.front().behind, 0U) << "30 is the next that is due";
  store["done"] = 9;
  EXPECT_EQ(history.figures(answers).nodes.front().behind, 2U) << "10 and 20";
  store["done"] = nullptr;
  EXPECT_EQ(history.figures(answers).nodes.front().behind, 3U);
  store["awaits_event"] = true;
  EXPECT_EQ(history.figures(answers).nodes.front().behind, 0U);
}

TEST(TopFigures, TheHistoryOfTheBufferIsTheMostOfEachPart) {
  History history;
  for (int second = 0; second < 60; ++second)
    history.add(second,
                answers_of({.uptime = 1.0 + second, .used_bytes = second == 30 ? 900U : 100U}));
  const auto fills = history.fills(6, 60);
  EXPECT_DOUBLE_EQ(*fills[0], 0.1);
  EXPECT_DOUBLE_EQ(*fills[3], 0.9);
  EXPECT_FALSE(history.fills(6, 600)[0]) << "of before it began nothing is known";
}

TEST(TopFigures, TimeIsLeftOnlyOfARunWhoseLengthIsKnown) {
  const Answers answers = answers_of({.complete = 40});
  Figures figures;
  figures.iterations_per_minute = 30;
  EXPECT_FALSE(seconds_left(0, answers, figures));
  EXPECT_DOUBLE_EQ(*seconds_left(100, answers, figures), 120);
  EXPECT_DOUBLE_EQ(*seconds_left(30, answers, figures), 0);
  figures.iterations_per_minute = 0;
  EXPECT_FALSE(seconds_left(100, answers, figures));
}

TEST(TopFigures, WhoWaitsForWhomIsSaid) {
  Answers answers = answers_of({.complete = 25});
  Figures figures;
  EXPECT_EQ(waits(answers, figures),
            std::vector<std::string>{"stores and scripts wait for the ranks"});
  answers.metrics["memory"]["waiting_ranks"] = {1, 0};
  figures.nodes = {{.name = "out", .kind = "store", .behind = 4}};
  EXPECT_EQ(waits(answers, figures),
            (std::vector<std::string>{"ranks 0-1 wait for buffer space, which is freed when store "
                                      "\"out\" has the next iteration",
                                      "4 iterations wait for store \"out\""}));
  answers = answers_of({.complete = 25});
  answers.status["clients"][0]["iteration"] = 31;
  figures.nodes.clear();
  EXPECT_EQ(waits(answers, figures).front(),
            "iteration 25 waits for rank 1; the fastest rank is in iteration 31");
  answers.status["waits"] = "iteration 25 waits for server node2";
  EXPECT_EQ(waits(answers, figures).front(), "iteration 25 waits for server node2");
  figures.waited_share = 0.34;
  EXPECT_EQ(waits(answers, figures)[1], "ranks waited 34 % of the last seconds for buffer space");
}

TEST(TopFigures, OfNoAnswersThereIsNothing) {
  const Answers none;
  History history;
  history.add(1, none);
  EXPECT_FALSE(history.figures(none).iterations_per_minute);
  EXPECT_TRUE(waits(none, history.figures(none)).empty());
  EXPECT_FALSE(slowest_iteration(none.status));
}

}  // namespace
}  // namespace leat::cli::top
