// SPDX-License-Identifier: Apache-2.0
#include "server/workers/graph/stamp_filter.hpp"

#include <muParser.h>

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace leat::server {
namespace {

double remainder_of(double a, double b) { return std::fmod(a, b); }

double as_double(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nan("");
}

// The same ones in each run, and on each server: a well mixed number in [0, 1). splitmix64 (Vigna, 2015).
double drawn(std::int64_t iteration) {
  auto z = static_cast<std::uint64_t>(iteration) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

// muParser has the variables by address.
class StampFilter::Condition {
 public:
  Condition(const std::string& text, const model::Model& model, bool has_messages) {
    try {
      parser_.DefineOprt("%", remainder_of, mu::prMUL_DIV, mu::oaLEFT, true);
      parser_.DefineVar("iteration", &iteration_);
      parser_.DefineVar("time", &time_);
      for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        const std::string& name = model.parameters[i].name;
        const bool is_used = text.find(name) != std::string::npos;
        if (is_used && name != "iteration" && name != "time") parser_.DefineVar(name, &values_[i]);
      }
      if (model.time) time_parameter_ = model.time->parameter;
      if (has_messages) parser_.SetVarFactory(stamp_of, this);
      parser_.SetExpr(text);
      parser_.Eval();  // what it does not know is said now
    } catch (const mu::Parser::exception_type& e) {
      throw std::invalid_argument("when=\"" + text + "\": " + e.GetMsg());
    }
  }

  bool has_stamps() const noexcept { return !stamps_.empty(); }

  bool holds(std::int64_t iteration, const std::vector<ParameterValue>& parameters,
             const std::map<std::string, double>& stamps = {}) {
    iteration_ = static_cast<double>(iteration);
    for (auto& [index, value] : values_) value = value_of(parameters, index);
    time_ = time_parameter_ ? value_of(parameters, *time_parameter_) : std::nan("");
    for (auto& [name, value] : stamps_) {
      const auto found = stamps.find(name);
      value = found == stamps.end() ? std::nan("") : found->second;
    }
    try {
      const double value = parser_.Eval();
      return !std::isnan(value) && value != 0;
    } catch (const mu::Parser::exception_type&) {
      return false;
    }
  }

 private:
  static double value_of(const std::vector<ParameterValue>& parameters, std::size_t index) {
    return index < parameters.size() ? as_double(parameters[index]) : std::nan("");
  }

  static double* stamp_of(const char* name, void* self) {
    return &static_cast<Condition*>(self)->stamps_[name];
  }

  mu::Parser parser_;
  double iteration_ = 0, time_ = 0;
  std::map<std::size_t, double> values_;  // by parameter
  std::optional<std::size_t> time_parameter_;
  std::map<std::string, double> stamps_;
};

StampFilter::StampFilter(const ModuleInput& input, const model::Model& model)
    : filter_(input.filter) {
  if (!filter_.when.empty())
    condition_ = std::make_unique<Condition>(filter_.when, model, input.variable.empty());
}
StampFilter::~StampFilter() = default;
StampFilter::StampFilter(StampFilter&&) noexcept = default;

bool StampFilter::lets_through(const Iteration& iteration, std::int64_t now_ns) const {
  if (iteration.number % filter_.every != filter_.offset % filter_.every) return false;
  if (filter_.sample < 1 && drawn(iteration.number) >= filter_.sample) return false;
  if (condition_ && !condition_->has_stamps() &&
      !condition_->holds(iteration.number, iteration.parameters))
    return false;
  return filter_.rate <= 0 || !passed_ns_ ||
         static_cast<double>(now_ns - *passed_ns_) * filter_.rate >= 1e9;
}

bool StampFilter::lets_through(const Publication& publication, const Product& product) const {
  return !condition_ || !condition_->has_stamps() ||
         condition_->holds(publication.iteration, publication.parameters, product.stamps);
}

}  // namespace leat::server
