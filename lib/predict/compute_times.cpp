// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/compute_times.hpp"

#include <string>

#include "lib/predict/draws.hpp"
#include "lib/predict/machine.hpp"

namespace leat::predict {
namespace {

class DrawnCompute final : public ComputeTimes {
 public:
  DrawnCompute(std::int64_t median_ns, double spread, std::uint64_t seed)
      : median_ns_(median_ns), spread_(spread), draws_(seed) {}

  std::int64_t of(std::int64_t rank, std::int64_t collective) const override {
    return draws_.log_normal_ns(median_ns_, spread_, Purpose::compute, rank, collective);
  }

 private:
  std::int64_t median_ns_;
  double spread_;
  Draws draws_;
};

class RecordedCompute final : public ComputeTimes {
 public:
  RecordedCompute(const std::vector<Trace>& traces, std::int64_t ranks, std::uint64_t seed)
      : traces_(traces), ranks_(ranks), draws_(seed) {}

  std::int64_t of(std::int64_t rank, std::int64_t collective) const override {
    const auto count = static_cast<std::int64_t>(traces_.size());
    const auto which = static_cast<std::size_t>(
        count == ranks_ ? rank : draws_.below(count, Purpose::trace_of_rank, rank));
    const std::vector<Event>& events = traces_[which].events;
    const std::size_t at = static_cast<std::size_t>(collective) % (events.size() - 1);
    return events[at + 1].begin - events[at].end();
  }

 private:
  const std::vector<Trace>& traces_;
  std::int64_t ranks_;
  Draws draws_;
};

Error no_compute(const std::string& why) { return {Status::ERROR_ARGUMENT, why}; }
Error bad_traces(const std::string& why) { return {Status::ERROR_CONFIG, why}; }

}  // namespace

Result<std::unique_ptr<ComputeTimes>> drawn_compute(std::int64_t median_ns, double spread,
                                                    std::uint64_t seed) {
  if (median_ns < 1 || median_ns > kLongestNs)
    return no_compute("ranks compute for 1 to " + std::to_string(kLongestNs) +
                      " ns between collectives");
  if (!(spread >= 0 && spread <= 5))
    return no_compute("the imbalance of ranks is from 0, all alike, to 5");
  return std::unique_ptr<ComputeTimes>(std::make_unique<DrawnCompute>(median_ns, spread, seed));
}

Result<std::unique_ptr<ComputeTimes>> recorded_compute(const std::vector<Trace>& traces,
                                                       std::int64_t ranks, std::uint64_t seed) {
  if (traces.empty()) return no_compute("there is no trace of collectives");
  const Trace& first = traces.front();
  if (first.events.size() < 2)
    return no_compute(first.name +
                      ": one collective does not say how long ranks compute between two");
  for (const Trace& trace : traces) {
    if (trace.events.size() != first.events.size())
      return bad_traces(trace.name + " has " + std::to_string(trace.events.size()) +
                        " collectives, " + first.name + " has " +
                        std::to_string(first.events.size()) +
                        ": all ranks of a communicator are in all of them, so one trace has a gap");
  }
  return std::unique_ptr<ComputeTimes>(std::make_unique<RecordedCompute>(traces, ranks, seed));
}

}  // namespace leat::predict
