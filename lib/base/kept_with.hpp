// SPDX-License-Identifier: Apache-2.0
// One thing that lives as long as another.
#pragma once

#include <memory>
#include <utility>

namespace leat {

/// The same pointer; `other` is kept as long as a copy of what is returned exists.
template <class T>
std::shared_ptr<T> kept_with(std::shared_ptr<T> it, std::shared_ptr<const void> other) {
  T* const same = it.get();
  using Both = std::pair<std::shared_ptr<T>, std::shared_ptr<const void>>;
  return {std::make_shared<const Both>(std::move(it), std::move(other)), same};
}

}  // namespace leat
