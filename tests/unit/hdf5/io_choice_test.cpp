// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/common/io_choice.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace leat::hdf5 {
namespace {

using namespace std::chrono_literals;

constexpr IoChoice::Time kPeriod = 100ms, kQuick = 10ms, kSlow = 80ms;

// A store whose iterations have one large piece each, which takes what the disk takes.
class Store {
 public:
  explicit Store(Io io = Io::automatic) : choice_(io) {}
  // Whether the piece goes past the page cache.
  bool iteration(IoChoice::Time took = kQuick, std::uint64_t waiting = 0) {
    choice_.begin(now_, waiting);
    now_ += period_;
    const bool is_direct = choice_.is_direct();
    if (is_direct) choice_.wrote(took);
    return is_direct;
  }
  // How many go past the page cache.
  int iterations(int number, IoChoice::Time took = kQuick, std::uint64_t waiting = 0) {
    int direct = 0;
    for (int i = 0; i < number; ++i) direct += iteration(took, waiting);
    return direct;
  }
  // The number of iterations before the next that goes past the page cache.
  int pause(IoChoice::Time took) {
    int number = 0;
    while (!iteration(took) && number < 10'000) ++number;
    return number;
  }
  void set_period(IoChoice::Time period) { period_ = period; }
  IoChoice& choice() { return choice_; }
  std::string summary() const { return choice_.summary(); }

 private:
  IoChoice choice_;
  IoChoice::Time now_ = 1h, period_ = kPeriod;
};

TEST(IoChoice, begins_through_the_page_cache_and_tries_when_it_has_seen_what_there_is_time_for) {
  Store store;
  EXPECT_EQ(store.iterations(IoChoice::kFirstTry), 0);
  EXPECT_TRUE(store.iteration());
}

TEST(IoChoice, keeps_on_while_the_disk_takes_less_than_a_quarter_of_the_time) {
  Store store;
  store.iterations(IoChoice::kFirstTry);
  EXPECT_EQ(store.iterations(100, kPeriod / 4), 100);
  EXPECT_EQ(store.summary(), "large blocks went past the page cache in 100 of 102 iterations");
}

TEST(IoChoice, goes_back_with_the_next_piece_when_the_disk_takes_longer) {
  IoChoice choice(Io::automatic);
  for (int i = 0; i <= IoChoice::kFirstTry; ++i) choice.begin(i * kPeriod, 0);
  for (int piece = 0; piece < 5; ++piece) {
    ASSERT_TRUE(choice.is_direct()) << piece;
    choice.wrote(5ms);
  }
  ASSERT_TRUE(choice.is_direct());
  choice.wrote(1ms);
  EXPECT_FALSE(choice.is_direct());
}

TEST(IoChoice, waits_twice_as_long_after_each_try_that_fails_up_to_a_most) {
  Store store;
  store.pause(kSlow);
  for (const int pause : {16, 32, 64, 128, 256, 256}) EXPECT_EQ(store.pause(kSlow), pause - 1);
  EXPECT_EQ(
      store.summary(),
      "large blocks went past the page cache in 7 of 755 iterations; back through it 7 "
      "times, as the disk took more than a quarter of the time from one iteration to the next");
}

TEST(IoChoice, forgets_the_failures_when_the_disk_has_kept_up_as_long_as_the_last_pause) {
  Store store;
  for (int i = 0; i < 4; ++i) store.pause(kSlow);
  store.pause(kQuick);
  EXPECT_EQ(store.iterations(300), 300);
  EXPECT_TRUE(store.iteration(kSlow));
  EXPECT_EQ(store.pause(kSlow), IoChoice::kFirstPause - 1);
}

TEST(IoChoice, does_not_forget_them_for_a_few_iterations_that_went_well) {
  Store store;
  for (int i = 0; i < 4; ++i) store.pause(kSlow);
  store.pause(kQuick);
  EXPECT_TRUE(store.iteration(kSlow));
  EXPECT_EQ(store.pause(kSlow), 256 - 1);
}

TEST(IoChoice, goes_back_when_iterations_wait_and_does_not_try_while_they_do) {
  Store store;
  EXPECT_EQ(store.iterations(50, kQuick, 1), 0);
  EXPECT_TRUE(store.iteration());
  EXPECT_FALSE(store.iteration(kQuick, 1));
  EXPECT_EQ(store.summary(),
            "large blocks went past the page cache in 1 of 52 iterations; back through it once, "
            "as iterations were waiting");
}

TEST(IoChoice, goes_back_when_the_simulation_becomes_faster) {
  Store store;
  store.iterations(10, 20ms);
  store.set_period(60ms);
  EXPECT_TRUE(store.iteration(20ms));  // it is known of the next one only
  EXPECT_FALSE(store.iteration(20ms));
}

TEST(IoChoice, is_not_asked_where_the_user_has_chosen) {
  Store direct(Io::direct), buffered(Io::buffered);
  EXPECT_EQ(direct.iterations(20, kSlow, 1), 20);
  EXPECT_EQ(buffered.iterations(20), 0);
  EXPECT_EQ(direct.summary() + buffered.summary(), "");
}

TEST(IoChoice, never_tries_again_where_it_is_not_possible) {
  for (const Io io : {Io::automatic, Io::direct}) {
    Store store(io);
    store.iterations(10);
    store.choice().give_up();
    EXPECT_EQ(store.iterations(1000), 0);
  }
}

TEST(IoChoice, has_three_names) {
  EXPECT_EQ(io_from(""), Io::buffered);
  EXPECT_EQ(io_from("auto"), Io::automatic);
  EXPECT_EQ(io_from("buffered"), Io::buffered);
  EXPECT_EQ(io_from("direct"), Io::direct);
  EXPECT_THROW(io_from("Direct"), std::runtime_error);
}

}  // namespace
}  // namespace leat::hdf5
