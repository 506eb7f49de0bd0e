// SPDX-License-Identifier: Apache-2.0
// Statistics of every numeric variable, for any run: of each iteration, and of the run so far, one
// line of a CSV file per iteration. What examples/analysis/statistics.py does, as a plugin:
//
//     <store name="stats" library="./libstatistics.so" file="stats.csv"/>
//
// Columns are iteration, then for a variable "temperature" temperature_min, _max, _mean, _std, _p5,
// _p50, _p95, _not_finite and _run_count, _run_min, _run_max, _run_mean. They are empty in an
// iteration in which the variable was not written. When leatd died and another goes on, so does the
// file: all that is needed for it is in its lines.
//
// The same numbers are published under the same names: an hdf5 store of the run has them in
// /products/stats, and every plugin that takes them gets them.
#include <leat/plugin.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <limits>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::array kPercentiles = {5, 50, 95};
constexpr std::array kColumns = {"min", "max", "mean", "std"};
constexpr std::array kRunColumns = {"not_finite", "run_count", "run_min", "run_max", "run_mean"};
constexpr std::size_t kColumnsOfVariable =
    kColumns.size() + kPercentiles.size() + kRunColumns.size();
constexpr std::size_t kOfUnit = kColumns.size() + kPercentiles.size();  // the first ones
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
  Statistics(const leat_run& run, leat::Host host)
      : run_(run),
        host_(host),
        file_(leat::option(run.options, run.option_count, "file", "statistics.csv")),
        so_far_(run.variable_count) {
    const bool goes_on = leat_run_is_resumed(&run) && take_up();
    out_.open(file_, goes_on ? std::ios::app : std::ios::trunc);
    if (!goes_on) head();
  }

  void iteration(const leat_iteration_data& data) {
    // Of a resumed run: its line is there, but who subscribes may not have got it.
    const bool is_known = data.iteration <= last_;
    leat::Products products;
    std::ostringstream line;
    line << std::setprecision(17) << data.iteration;
    for (std::uint64_t v = 0; v < run_.variable_count; ++v) {
      const leat_variable& variable = *leat_variable_at(&run_, v);
      if (!is_numeric(variable)) continue;
      std::optional<Values> values = values_in(data, v);
      if (!values) {
        line << std::string(kColumnsOfVariable, ',');
        continue;
      }
      const std::vector<double> numbers = describe(*values, is_known ? nullptr : &so_far_[v]);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        line << ',' << numbers[i];
        products.add(product_name(variable, i), numbers[i], i < kOfUnit ? variable.unit : "");
      }
    }
    if (!is_known) end_line(line.str());
    if (!products.empty()) host_.publish(std::move(products));
  }

  void close() { out_.close(); }

 private:
  void head() {
    std::ostringstream line;
    line << "iteration";
    for (std::uint64_t v = 0; v < run_.variable_count; ++v) {
      const leat_variable& variable = *leat_variable_at(&run_, v);
      if (!is_numeric(variable)) continue;
      for (const std::string& column : columns()) line << ',' << variable.name << '_' << column;
    }
    end_line(line.str());
  }

  static const std::vector<std::string>& columns() {
    static const std::vector<std::string> all = [] {
      std::vector<std::string> names(kColumns.begin(), kColumns.end());
      for (const int p : kPercentiles) names.push_back("p" + std::to_string(p));
      names.insert(names.end(), kRunColumns.begin(), kRunColumns.end());
      return names;
    }();
    return all;
  }

  // A group's name has '/', which no product's has.
  static std::string product_name(const leat_variable& variable, std::size_t column) {
    std::string name = std::string(variable.name) + "_" + columns()[column];
    std::replace(name.begin(), name.end(), '/', '.');
    return name;
  }

  // Nothing when it was not written.
  std::optional<Values> values_in(const leat_iteration_data& data, std::uint64_t number) const {
    std::optional<Values> values;
    for (const leat_block& block : leat::Blocks(data)) {
      if (block.variable != number) continue;
      if (!values) values.emplace();
      take(*leat_variable_at(&run_, number), block, *values);
    }
    return values;
  }

  // What the lines of a leatd that died say of the run so far; half a line, in which it died, is
  // cut off. False when there is nothing to go on with.
  bool take_up() {
    std::ifstream in(file_);
    std::uintmax_t end = 0;
    for (std::string line; std::getline(in, line) && !in.eof(); end += line.size() + 1) {
      if (end > 0) take_line(line);
    }
    if (end > 0) std::filesystem::resize_file(file_, end);
    return end > 0;
  }

  void take_line(const std::string& line) {
    std::istringstream fields(line + ',');
    std::vector<std::string> columns;
    for (std::string field; std::getline(fields, field, ',');) columns.push_back(field);
    last_ = std::atoll(columns[0].c_str());
    std::size_t end = 1;
    for (std::uint64_t v = 0; v < run_.variable_count; ++v) {
      if (!is_numeric(*leat_variable_at(&run_, v))) continue;
      end += kColumnsOfVariable;
      if (end > columns.size()) throw std::runtime_error(file_ + " is not of this run");
      if (columns[end - 1].empty()) continue;  // not written then
      const auto number = [&](std::size_t back) { return std::atof(columns[end - back].c_str()); };
      so_far_[v] = {number(4), number(3), number(2), number(4) > 0 ? number(1) : 0};
    }
  }

  // In the order of columns(); those of the run are left out without `so_far`.
  static std::vector<double> describe(Values& values, Run* so_far) {
    std::vector<double>& numbers = values.numbers;
    std::vector<double> found(kColumns.size() + kPercentiles.size(), kNan);
    if (!numbers.empty()) {  // else a step without particles
      const double n = static_cast<double>(numbers.size());
      const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end());
      const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / n;
      double squares = 0;
      for (const double x : numbers) squares += (x - mean) * (x - mean);
      found = {*least, *greatest, mean, std::sqrt(squares / n)};
      if (so_far) so_far->add(n, *least, *greatest, mean);
      for (const int p : kPercentiles) found.push_back(percentile(numbers, p));
    }
    found.push_back(static_cast<double>(values.not_finite));
    if (so_far) {
      found.insert(found.end(), {so_far->count, so_far->min, so_far->max,
                                 so_far->count > 0 ? so_far->mean : kNan});
    }
    return found;
  }

  // Flushed, so that the file can be read while the run goes on.
  void end_line(const std::string& line) {
    out_ << line << '\n' << std::flush;
    if (!out_) throw std::runtime_error("cannot write " + file_);
  }

  const leat_run& run_;
  leat::Host host_;
  std::string file_;
  std::ofstream out_;
  std::vector<Run> so_far_;                                       // of each variable
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();  // that an earlier leatd finished
};

}  // namespace

LEAT_PLUGIN(Statistics, "statistics")
