// SPDX-License-Identifier: Apache-2.0
// Publishes what it makes of variable 0, bytes, or writes down what others have published, as its options
// say:
//     publish="sum field lent"   a number; the values, moved; the values in memory with a release
//     fail="3"                   fails at that iteration, after it has published
//     odd="1"                    first tries what is refused
//     file="got.txt"             a line for each product it gets: source, iteration, name, sum
//     make="twice"               of each product that it gets, one of this name: its values' sum, twice
//     meet="a b"                 writes the file a, and waits until there is a file b: with iteration 0
//     pause="0.1"                takes so many seconds for what it gets
//     steer="2"                  gives parameters new values at that iteration, and tries some that are refused
//     kill="4"                   ends the server when it gets a product of that iteration; once
//     crash="4"                  crashes when it gets one of that iteration; each time
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include "server/include/plugin.hpp"

namespace {

double sum_of(const void* data, std::uint64_t bytes) {
  const auto* const first = static_cast<const double*>(data);
  return std::accumulate(first, first + bytes / sizeof(double), 0.0);
}

class Publishing {
 public:
  Publishing(const leat_run& run, leat::Host host) : run_(run), host_(host) {
    if (!file().empty()) out_.open(file(), std::ios::app);
  }

  void iteration(const leat_iteration_data& data) {
    if (data.iteration == 0) meet();
    if (data.block_count > 0) publish(data);
    if (option("steer") == std::to_string(data.iteration)) steer();
    if (option("fail") == std::to_string(data.iteration))
      throw std::runtime_error("as it was told");
  }

  void results(const leat_result_set& set) {
    if (option("kill") == std::to_string(set.iteration)) kill_once();
    if (option("crash") == std::to_string(set.iteration)) ::raise(SIGSEGV);
    if (!option("pause").empty())
      std::this_thread::sleep_for(std::chrono::duration<double>(std::stod(option("pause"))));
    for (std::uint64_t i = 0; i < set.result_count; ++i) {
      const leat_result& each = *leat_result_at(&set, i);
      out_ << set.source << ' ' << set.iteration << ' ' << each.name << ' '
           << sum_of(each.data, each.bytes) << '\n'
           << std::flush;
      if (option("make").empty()) continue;
      leat::Products products;
      products.add(option("make"), 2 * sum_of(each.data, each.bytes));
      host_.publish(std::move(products));
    }
  }

  void close() { host_.info("released " + std::to_string(released_)); }

 private:
  std::string option(const char* name) const {
    return leat::option(run_.options, run_.option_count, name);
  }
  std::string file() const { return option("file"); }

  // Only somebody who works at the same time can write the other file.
  void meet() const {
    std::istringstream names(option("meet"));
    std::string own, other;
    if (!(names >> own >> other)) return;
    std::ofstream(own).flush();
    for (int i = 0; i < 2000 && !std::filesystem::exists(other); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!std::filesystem::exists(other)) throw std::runtime_error("nobody came");
  }

  void steer() const {
    host_.set("gain", 2);
    host_.set("mode", "fine");
    host_.set("gian", 3.0);
    for (const double value : {std::nan(""), 0.5}) {
      try {
        host_.set("gain", value);
      } catch (const std::exception& e) {
        host_.warn(e.what());
      }
    }
  }

  void kill_once() const {
    const std::string mark = file() + ".killed";
    if (std::filesystem::exists(mark)) return;
    std::ofstream(mark).flush();
    ::raise(SIGKILL);
  }

  void publish(const leat_iteration_data& data) {
    const leat_block& block = *leat_block_at(&data, 0);
    const auto* const first = static_cast<const std::uint8_t*>(block.data);
    const std::vector<double> values(first, first + block.bytes);
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    if (option("odd") == "1") publish_odd(values);
    std::istringstream words(option("publish"));
    for (std::string word; words >> word;) {
      leat::Products products;
      if (word == "sum") products.add("sum", sum, "J");
      if (word == "field")
        products.add("field", values, {{"x", static_cast<std::int64_t>(values.size())}}, "K");
      if (word == "lent") lend(values);
      if (!products.empty()) host_.publish(std::move(products));
    }
  }

  void lend(const std::vector<double>& values) {
    auto* const memory = new std::vector<double>(values);
    leat_result result = described("lent", *memory);
    leat_result_set set = set_of(result);
    const auto release = [](void* lent) {
      auto* const back = static_cast<std::vector<double>*>(lent);
      std::fill(back->begin(), back->end(), -1);  // who reads it later sees that
      delete back;
      ++released_;
    };
    if (leat_host_publish(host_.abi(), &set, release, memory) != 0)
      throw std::runtime_error("lent");
  }

  static leat_result described(const char* name, const std::vector<double>& values) {
    leat_result result{};
    result.size = sizeof result;
    result.name = name;
    result.unit = "";
    result.type = LEAT_FLOAT64;
    result.dims = 1;
    result.dimension[0] = "x";
    result.extent[0] = static_cast<std::int64_t>(values.size());
    result.data = values.data();
    result.bytes = values.size() * sizeof(double);
    return result;
  }

  static leat_result_set set_of(const leat_result& result) {
    leat_result_set set{};
    set.size = sizeof set;
    set.source = "";
    set.results = &result;
    set.result_count = 1;
    set.result_stride = sizeof result;
    return set;
  }

  void publish_odd(const std::vector<double>& values) {
    leat_result result = described("odd", values);
    const leat_result_set set = set_of(result);
    const auto refused = [&] {
      if (leat_host_publish(host_.abi(), &set, nullptr, nullptr) == 0)
        throw std::logic_error("was not refused");
    };
    result.bytes -= 8;
    refused();
    result.bytes += 8;
    result.extent[0] = -1;
    refused();
    result.extent[0] = static_cast<std::int64_t>(values.size());
    result.dims = 9;
    refused();
    result.dims = 1;
    result.type = 77;
    refused();
    result.type = LEAT_FLOAT64;
    result.name = "../odd";
    refused();
  }

  const leat_run& run_;
  leat::Host host_;
  std::ofstream out_;
  static inline std::atomic<int> released_{0};
};

}  // namespace

LEAT_PLUGIN(Publishing, "publishing")
