// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/machine.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "lib/predict/draws.hpp"

namespace leat::predict {
namespace {

Result<void> check_time(const char* name, double ns) {
  if (ns >= 0 && ns <= static_cast<double>(kLongestNs)) return {};
  return Error{Status::ERROR_ARGUMENT, std::string("there is no machine whose ") + name +
                                           " is not from 0 ns to " + std::to_string(kLongestNs) +
                                           " ns"};
}

Result<void> check_machine(const Machine& machine) {
  for (const auto& [name, ns] :
       {std::pair{"L", static_cast<double>(machine.latency)},
        std::pair{"o", static_cast<double>(machine.overhead)},
        std::pair{"g", static_cast<double>(machine.gap)}, std::pair{"G", machine.gap_per_byte},
        std::pair{"O", machine.overhead_per_byte}}) {
    if (const Result<void> good = check_time(name, ns); !good) return good.error();
  }
  return {};
}

}  // namespace

Result<MessageCosts> message_costs(const Machine& machine, std::int64_t bytes) {
  if (const Result<void> good = check_machine(machine); !good) return good.error();
  if (bytes < 1 || bytes > machine.rendezvous_bytes)
    return Error{
        Status::ERROR_ARGUMENT,
        "an all-reduce of " + std::to_string(bytes) +
            " bytes: messages have from 1 to S = " + std::to_string(machine.rendezvous_bytes) +
            " bytes; how larger ones wait for their receivers is not simulated"};
  const auto more = static_cast<double>(bytes - 1);
  const double most = std::max(machine.gap_per_byte, machine.overhead_per_byte);
  if (more * most > static_cast<double>(kLongestNs))
    return Error{Status::ERROR_ARGUMENT, "a message of " + std::to_string(bytes) +
                                             " bytes would take more than eleven days"};
  MessageCosts costs;
  costs.overhead = machine.overhead;
  costs.latency = machine.latency;
  costs.sending = rounded(more * machine.overhead_per_byte);
  costs.receiving = rounded(more * most);
  costs.send_gap = machine.gap + rounded(more * machine.gap_per_byte);
  // A rank sends and receives in turns.
  costs.gap_can_bind = costs.send_gap > 2 * costs.overhead + costs.sending + costs.receiving;
  return costs;
}

int rounds_among(std::int64_t ranks) {
  return std::bit_width(static_cast<std::uint64_t>(ranks - 1));
}

}  // namespace leat::predict
