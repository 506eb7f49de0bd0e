// SPDX-License-Identifier: Apache-2.0
// An analysis of a known length: goes `rounds` times through the values that it takes, which need not be a whole number, in `pieces`,
// and publishes what it has made of them, which is the same bits on any cores.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "server/include/plugin.hpp"

namespace {

class Work {
 public:
  Work(const leat_run& run, leat::Host host)
      : host_(host),
        rounds_(number(run, "rounds")),
        pieces_(static_cast<std::uint64_t>(number(run, "pieces"))) {}

  std::uint64_t begin(const leat_iteration_data& data) {
    values_.clear();
    for (const leat_block& block : leat::Blocks(data)) {
      const auto* const first = static_cast<const double*>(block.data);
      values_.insert(values_.end(), first, first + block.bytes / sizeof(double));
    }
    found_.assign(pieces_, 0);
    return pieces_;
  }

  void chunk(std::uint64_t number) {
    const std::size_t first = values_.size() * number / pieces_;
    const std::size_t last = values_.size() * (number + 1) / pieces_;
    double sum = 0;
    for (auto left = static_cast<std::size_t>(rounds_ * static_cast<double>(last - first));
         left > 0;) {
      const std::size_t now = std::min(left, last - first);
      for (std::size_t i = first; i < first + now; ++i)
        sum += std::sqrt(values_[i] * values_[i] + sum * 1e-9);
      left -= now;
    }
    found_[number] = sum;
    host_.progress(last - first);
  }

  void finish() {
    double sum = 0;
    for (const double each : found_) sum += each;
    leat::Products products;
    products.add("sum", sum);
    host_.publish(std::move(products));
  }

  void close() {}

 private:
  static double number(const leat_run& run, const char* name) {
    return std::strtod(leat::option(run.options, run.option_count, name, "1").c_str(), nullptr);
  }

  leat::Host host_;
  double rounds_;
  std::uint64_t pieces_;
  std::vector<double> values_, found_;
};

}  // namespace

LEAT_PLUGIN(Work, "work")
