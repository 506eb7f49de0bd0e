// SPDX-License-Identifier: Apache-2.0
// Two buffers: while one is on its way to the file the simulation fills the other.
#pragma once

#include <cstring>
#include <vector>

#include "tests/bench/job/output.hpp"

namespace leat::bench {

class DoubleBuffer : public Output {
 public:
  double* memory() final { return copies_ ? nullptr : free_slot(); }

  void write(int iteration, const double* data) final {
    if (copies_) std::memcpy(free_slot(), data, plan_.bytes);
    start(next_, buffers_[next_].data(), static_cast<std::size_t>(iteration));
    busy_[next_] = true;
    next_ = 1 - next_;
  }

  void finish() override {
    for (int slot : {next_, 1 - next_}) wait_for(slot);
  }

 protected:
  /// copies: the simulation keeps its array, as with leat_write; else it changes from one buffer to
  /// the other.
  DoubleBuffer(const Setting& setting, bool copies) : plan_(setting.plan), copies_(copies) {
    for (auto& buffer : buffers_) buffer.assign(setting.values(), 1.0);  // touched: warm
  }

  virtual void start(int slot, const double* data, std::size_t iteration) = 0;
  virtual void wait(int slot) = 0;

  const Plan& plan_;

 private:
  void wait_for(int slot) {
    if (busy_[slot]) wait(slot);
    busy_[slot] = false;
  }
  double* free_slot() {
    wait_for(next_);
    return buffers_[next_].data();
  }

  const bool copies_;
  std::vector<double> buffers_[2];
  bool busy_[2] = {false, false};
  int next_ = 0;
};

}  // namespace leat::bench
