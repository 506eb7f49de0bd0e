// SPDX-License-Identifier: Apache-2.0
// Statistics of every numeric variable, for any run: of each iteration, and of the run so far, one
// line of a CSV file per iteration. What examples/analysis/statistics.py does, as a plugin:
//
//     <store name="stats" library="./libstatistics.so" file="stats.csv"/>
//
// Columns are iteration, then for a variable "temperature" temperature_min, _max, _mean, _std, _p5,
// _p50, _p95, _not_finite and _run_min, _run_max, _run_mean. They are empty in an iteration in
// which the variable was not written.
#include <leat/plugin.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::array kPercentiles = {5, 50, 95};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The finite values of a variable in one iteration, and how many others there were.
struct Values {
  std::vector<double> numbers;
  std::uint64_t not_finite = 0;
};

// Appends what the rank owns of a block: from dimension `d` on, without the ghost layers.
template <class T>
void take(const leat_variable& variable, const leat_block& block, const T* first, std::uint32_t d,
          Values& values) {
  if (d == variable.dims) {
    const double value = static_cast<double>(*first);
    if (std::isfinite(value)) {
      values.numbers.push_back(value);
    } else {
      ++values.not_finite;
    }
    return;
  }
  std::int64_t stride = 1;
  for (std::uint32_t i = d + 1; i < variable.dims; ++i) stride *= block.extent[i];
  const leat_dimension& dimension = variable.dimension[d];
  for (std::int64_t i = dimension.ghost_low; i < block.extent[d] - dimension.ghost_high; ++i) {
    take(variable, block, first + i * stride, d + 1, values);
  }
}

bool is_numeric(const leat_variable& variable) {  // no text, no complex numbers
  return variable.type >= LEAT_INT8 && variable.type <= LEAT_FLOAT64;
}

void take(const leat_variable& variable, const leat_block& block, Values& values) {
  const auto as = [&](auto type) {
    take(variable, block, static_cast<const decltype(type)*>(block.data), 0, values);
  };
  switch (variable.type) {
    case LEAT_INT8:
      return as(std::int8_t());
    case LEAT_INT16:
      return as(std::int16_t());
    case LEAT_INT32:
      return as(std::int32_t());
    case LEAT_INT64:
      return as(std::int64_t());
    case LEAT_UINT8:
      return as(std::uint8_t());
    case LEAT_UINT16:
      return as(std::uint16_t());
    case LEAT_UINT32:
      return as(std::uint32_t());
    case LEAT_UINT64:
      return as(std::uint64_t());
    case LEAT_FLOAT32:
      return as(float());
    case LEAT_FLOAT64:
      return as(double());
  }
}

// Between the two nearest values, as numpy.percentile does. Reorders the numbers.
double percentile(std::vector<double>& numbers, int percent) {
  const double place = (static_cast<double>(numbers.size()) - 1) * percent / 100;
  const auto below = numbers.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(numbers.begin(), below, numbers.end());
  if (below + 1 == numbers.end()) return *below;
  const double above = *std::min_element(below + 1, numbers.end());
  return *below + (above - *below) * (place - std::floor(place));
}

// All iterations so far. Nothing is ever summed up over the run, so that nothing is rounded away
// after many iterations: the mean moves towards the new values by their share.
struct Run {
  double count = 0, min = kNan, max = kNan, mean = 0;

  void add(double n, double least, double greatest, double mean_of_n) {
    count += n;
    min = std::fmin(min, least);
    max = std::fmax(max, greatest);
    mean += (mean_of_n - mean) * (n / count);
  }
};

class Statistics {
 public:
  Statistics(const leat_run& run, leat::Host)
      : run_(run),
        file_(leat::option(run.options, run.option_count, "file", "statistics.csv")),
        out_(file_),
        so_far_(run.variable_count) {
    out_ << std::setprecision(17) << "iteration";
    for (std::uint64_t v = 0; v < run.variable_count; ++v) {
      const leat_variable& variable = *leat_variable_at(&run, v);
      if (!is_numeric(variable)) continue;
      for (const char* column : {"min", "max", "mean", "std"}) head(variable, column);
      for (const int p : kPercentiles) head(variable, "p" + std::to_string(p));
      for (const char* column : {"not_finite", "run_min", "run_max", "run_mean"}) {
        head(variable, column);
      }
    }
    end_line();
  }

  void iteration(const leat_iteration_data& data) {
    out_ << data.iteration;
    for (std::uint64_t v = 0; v < run_.variable_count; ++v) {
      const leat_variable& variable = *leat_variable_at(&run_, v);
      if (!is_numeric(variable)) continue;
      Values values;
      bool written = false;
      for (const leat_block& block : leat::Blocks(data)) {
        if (block.variable != v) continue;
        take(variable, block, values);
        written = true;
      }
      if (written) {
        describe(values, so_far_[v]);
      } else {
        out_ << std::string(kPercentiles.size() + 8, ',');
      }
    }
    end_line();
  }

  void close() { out_.close(); }

 private:
  void head(const leat_variable& variable, const std::string& column) {
    out_ << ',' << variable.name << '_' << column;
  }

  void describe(Values& values, Run& so_far) {
    std::vector<double>& numbers = values.numbers;
    if (numbers.empty()) {  // a step without particles
      for (std::size_t i = 0; i < 4 + kPercentiles.size(); ++i) out_ << ',' << kNan;
    } else {
      const double n = static_cast<double>(numbers.size());
      const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end());
      const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / n;
      double squares = 0;
      for (const double x : numbers) squares += (x - mean) * (x - mean);
      out_ << ',' << *least << ',' << *greatest << ',' << mean << ',' << std::sqrt(squares / n);
      so_far.add(n, *least, *greatest, mean);
      for (const int p : kPercentiles) out_ << ',' << percentile(numbers, p);
    }
    out_ << ',' << values.not_finite << ',' << so_far.min << ',' << so_far.max << ','
         << (so_far.count > 0 ? so_far.mean : kNan);
  }

  // Flushed, so that the file can be read while the run goes on.
  void end_line() {
    out_ << '\n' << std::flush;
    if (!out_) throw std::runtime_error("cannot write " + file_);
  }

  const leat_run& run_;
  std::string file_;
  std::ofstream out_;
  std::vector<Run> so_far_;  // of each variable
};

}  // namespace

LEAT_PLUGIN(Statistics, "statistics")
