// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/bursts.hpp"

#include <algorithm>
#include <string>

#include "lib/predict/machine.hpp"

namespace leat::predict {
namespace {

std::int64_t moved(std::int64_t begin, std::int64_t sigma, const Draws& draws, std::int64_t node,
                   std::int64_t index) {
  return begin + rounded(static_cast<double>(sigma) * draws.normal(Purpose::start, node, index));
}

class DrawnBursts final : public BurstSource {
 public:
  DrawnBursts(const BurstShape& shape, Sigma sigma, std::uint64_t seed)
      : shape_(shape), sigma_(sigma), draws_(seed) {}

  // Without a common time the burst that began before the run may still go on.
  std::int64_t first(std::int64_t) const override { return sigma_ ? 0 : -1; }

  Event at(std::int64_t node, std::int64_t index) const override {
    const std::int64_t duration =
        draws_.log_normal_ns(shape_.median_ns, shape_.spread, Purpose::duration, node, index);
    const std::int64_t begin = index * shape_.every_ns;
    if (!sigma_) return {begin + draws_.below(shape_.every_ns, Purpose::phase, node), duration};
    return {moved(begin + shape_.every_ns / 2, *sigma_, draws_, node, index), duration};
  }

 private:
  BurstShape shape_;
  Sigma sigma_;
  Draws draws_;
};

class RecordedBursts final : public BurstSource {
 public:
  RecordedBursts(const std::vector<Trace>& traces, std::int64_t nodes, Sigma sigma,
                 std::uint64_t seed)
      : traces_(traces), nodes_(nodes), sigma_(sigma), draws_(seed) {
    origin_ = traces.front().events.front().begin;
    for (const Trace& trace : traces) {
      origin_ = std::min(origin_, trace.events.front().begin);
      longest_span_ = std::max(longest_span_, trace.span());
    }
  }

  std::int64_t first(std::int64_t node) const override {
    if (sigma_) return 0;
    const std::vector<Event>& events = trace_of(node).events;
    const std::int64_t from = events.front().begin + rotation(node);
    return std::partition_point(events.begin(), events.end(),
                                [&](const Event& event) { return event.end() <= from; }) -
           events.begin();
  }

  Event at(std::int64_t node, std::int64_t index) const override {
    const Trace& trace = trace_of(node);
    const auto size = static_cast<std::int64_t>(trace.events.size());
    const std::int64_t turn = index / size;
    const Event& event = trace.events[static_cast<std::size_t>(index % size)];
    // Those that are synchronised must stay so.
    if (sigma_)
      return {moved(event.begin - origin_ + turn * longest_span_, *sigma_, draws_, node, index),
              event.duration};
    return {event.begin - trace.events.front().begin + turn * trace.span() - rotation(node),
            event.duration};
  }

 private:
  const Trace& trace_of(std::int64_t node) const {
    const auto count = static_cast<std::int64_t>(traces_.size());
    return traces_[static_cast<std::size_t>(
        count == nodes_ ? node : draws_.below(count, Purpose::trace_of_node, node))];
  }
  std::int64_t rotation(std::int64_t node) const {
    return draws_.below(trace_of(node).span(), Purpose::phase, node);
  }

  const std::vector<Trace>& traces_;
  std::int64_t nodes_, origin_ = 0, longest_span_ = 0;
  Sigma sigma_;
  Draws draws_;
};

Error impossible(const std::string& why) { return {Status::ERROR_ARGUMENT, why}; }
Error bad_trace(const Trace& trace, const std::string& why) {
  return {Status::ERROR_CONFIG, trace.name + ": " + why};
}

Result<void> check_sigma(Sigma sigma, std::int64_t interval) {
  if (!sigma || (*sigma >= 0 && *sigma <= interval / 4)) return {};
  return impossible("bursts " + std::to_string(interval) + " ns apart cannot be synchronised to " +
                    std::to_string(*sigma) +
                    " ns: from 0 to a quarter of that can be; sigma none " +
                    "is for bursts that are not synchronised");
}

Result<void> check_shape(const BurstShape& shape) {
  if (shape.median_ns < 0 || shape.median_ns > kLongestNs)
    return impossible("bursts last from 0 to " + std::to_string(kLongestNs) + " ns");
  if (shape.every_ns < 1 || shape.every_ns > kLongestNs)
    return impossible("bursts begin every 1 to " + std::to_string(kLongestNs) + " ns");
  if (!(shape.spread >= 0 && shape.spread <= 5))
    return impossible("the spread of bursts is from 0, all alike, to 5");
  const double mean =
      static_cast<double>(shape.median_ns) * exp_of(shape.spread * shape.spread / 2);
  if (mean >= static_cast<double>(shape.every_ns))
    return impossible("bursts of " + std::to_string(rounded(mean)) + " ns on average, every " +
                      std::to_string(shape.every_ns) +
                      " ns, leave the simulation no time: it would never end");
  return {};
}

Result<void> check_trace(const Trace& trace) {
  if (trace.events.size() == 1 && trace.until == trace.events.back().end())
    return bad_trace(trace,
                     "of one event nobody knows when it happens again; say when the recording "
                     "ended: \"# until 20000000000\"");
  std::int64_t busy = 0;
  for (const Event& event : trace.events) busy += event.duration;
  if (busy < trace.span()) return {};
  return bad_trace(trace, "its bursts leave the simulation no time: it would never end");
}

}  // namespace

Result<std::unique_ptr<BurstSource>> drawn_bursts(const BurstShape& shape, Sigma sigma,
                                                  std::uint64_t seed) {
  if (const Result<void> good = check_shape(shape); !good) return good.error();
  if (const Result<void> good = check_sigma(sigma, shape.every_ns); !good) return good.error();
  return std::unique_ptr<BurstSource>(std::make_unique<DrawnBursts>(shape, sigma, seed));
}

Result<std::unique_ptr<BurstSource>> recorded_bursts(const std::vector<Trace>& traces,
                                                     std::int64_t nodes, Sigma sigma,
                                                     std::uint64_t seed) {
  if (traces.empty()) return impossible("there is no trace of bursts");
  for (const Trace& trace : traces) {
    if (const Result<void> good = check_trace(trace); !good) return good.error();
    const auto count = static_cast<std::int64_t>(trace.events.size());
    if (const Result<void> good = check_sigma(sigma, trace.span() / count); !good)
      return good.error();
  }
  return std::unique_ptr<BurstSource>(std::make_unique<RecordedBursts>(traces, nodes, sigma, seed));
}

}  // namespace leat::predict
