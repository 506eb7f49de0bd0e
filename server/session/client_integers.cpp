// SPDX-License-Identifier: Apache-2.0
#include "server/session/client_integers.hpp"

namespace leat::server {
namespace {

// Of a run that sets sizes anew in each iteration; far more than there are iterations in flight.
constexpr std::size_t kMostChanges = 4096;

}  // namespace

bool IntegersThen::put(std::uint32_t parameter, std::int64_t value) noexcept {
  if (parameter >= values.size()) return false;
  const bool known = set[parameter] && values[parameter] == value;
  values[parameter] = value;
  set[parameter] = 1;
  return !known;
}

ClientIntegers::ClientIntegers(const std::vector<model::Parameter>& parameters) {
  for (const model::Parameter& each : parameters) {
    base_.values.push_back(as_integer(each.value));
    base_.set.push_back(std::holds_alternative<std::int64_t>(each.value));
  }
  now_ = base_;
}

bool ClientIntegers::set(const Change& change) {
  if (!now_.put(change.parameter, change.value)) return false;
  if (change.event == 0) return base_.put(change.parameter, change.value);
  changes_.push_back(change);
  if (changes_.size() > kMostChanges) {
    const auto kept = changes_.begin() + kMostChanges / 2;
    for (auto each = changes_.begin(); each != kept; ++each)
      base_.put(each->parameter, each->value);
    changes_.erase(changes_.begin(), kept);
  }
  return true;
}

IntegersThen ClientIntegers::at(std::uint64_t event) const {
  IntegersThen then = base_;
  for (const Change& each : changes_) {
    if (each.event < event) then.put(each.parameter, each.value);
  }
  return then;
}

std::vector<ClientIntegers::Change> ClientIntegers::changes() const {
  std::vector<Change> all;
  for (std::uint32_t i = 0; i < base_.values.size(); ++i) {
    if (base_.set[i]) all.push_back({0, i, base_.values[i]});
  }
  all.insert(all.end(), changes_.begin(), changes_.end());
  return all;
}

}  // namespace leat::server
