// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/block_elements.hpp"

#include <algorithm>

namespace leat::hdf5 {

hsize_t sum_of(const ElementCounts& counts) {
  hsize_t sum = 0;
  for (const std::int64_t count : counts)
    sum += static_cast<hsize_t>(std::max<std::int64_t>(0, count));
  return sum;
}

bool ElementDimension::keeps(hsize_t first, hsize_t before, const ElementCounts& counts) {
  if (variables_ > 1) return has(first, before, counts);
  first_ = first;
  total_ = before;
  counts_ = counts;
  return true;
}

bool ElementDimension::has(hsize_t first, hsize_t before, const ElementCounts& counts) {
  if (first != first_) {
    total_ += sum_of(counts_);
    counts_.clear();
    first_ = first;
  }
  if (before != total_) return false;
  if (counts_.empty()) counts_ = counts;
  return counts_ == counts;
}

ElementDimension& ElementDimensions::find_or_make(hid_t file, DimensionScales& scales,
                                                  const WantedElements& wanted) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& each) {
    return each->kind() == wanted.kind && each->has(wanted.first, 0, wanted.counts);
  });
  if (found == all_.end()) return make(file, scales, wanted, 0);
  (*found)->join();
  return **found;
}

ElementDimension& ElementDimensions::make(hid_t file, DimensionScales& scales,
                                          const WantedElements& wanted, hsize_t total) {
  const bool is_first = std::none_of(all_.begin(), all_.end(),
                                     [&](const auto& each) { return each->kind() == wanted.kind; });
  const std::string name = scales.take_name(is_first ? wanted.kind : wanted.own_name);
  all_.push_back(
      std::make_unique<ElementDimension>(make_dimension(file, name, 0, true), wanted.kind, total));
  all_.back()->join();
  all_.back()->keeps(wanted.first, total, wanted.counts);
  return *all_.back();
}

ElementDimension& ElementDimensions::take_up(hid_t file, const std::string& name,
                                             const std::string& kind, hsize_t total) {
  auto found = std::find_if(all_.begin(), all_.end(),
                            [&](const auto& each) { return each->name() == name; });
  if (found == all_.end()) {
    all_.push_back(std::make_unique<ElementDimension>(Dataset(file, name), kind, total));
    found = all_.end() - 1;
  }
  (*found)->join();
  (*found)->had(total);
  return **found;
}

void ElementDimensions::list_named() {
  for (const auto& each : all_) each->scale().list_named();
}

}  // namespace leat::hdf5
