// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/interruptions.hpp"

#include <algorithm>
#include <limits>

namespace leat::predict {

Interruptions::Interruptions(const BurstSource* source, std::int64_t ranks,
                             std::int64_t ranks_per_node)
    : source_(source),
      ranks_per_node_(ranks_per_node),
      begin_(static_cast<std::size_t>(ranks), std::numeric_limits<std::int64_t>::max()),
      end_(begin_) {
  if (!source_) return;
  next_.resize(begin_.size());
  for (std::size_t rank = 0; rank < begin_.size(); ++rank) {
    next_[rank] = source_->first(static_cast<std::int64_t>(rank) / ranks_per_node_);
    end_[rank] = std::numeric_limits<std::int64_t>::min();
    take_next(rank);
  }
}

void Interruptions::take_next(std::size_t rank) {
  const Event burst = source_->at(static_cast<std::int64_t>(rank) / ranks_per_node_, next_[rank]++);
  begin_[rank] = std::max(burst.begin, end_[rank]);
  end_[rank] = begin_[rank] + burst.duration;
}

std::int64_t Interruptions::interrupted(std::int64_t rank, std::int64_t from, std::int64_t work) {
  const auto at = static_cast<std::size_t>(rank);
  while (from + work > begin_[at]) {
    if (from < begin_[at]) {  // it begins in the midst of the work
      work -= begin_[at] - from;
      from = end_[at];
    } else {
      from = std::max(from, end_[at]);
    }
    take_next(at);
  }
  return from + work;
}

}  // namespace leat::predict
