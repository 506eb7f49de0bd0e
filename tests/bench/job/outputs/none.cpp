// SPDX-License-Identifier: Apache-2.0
// No output: what the others are compared with.
#include "tests/bench/job/outputs/outputs.hpp"

namespace leat::bench {
namespace {

class None : public Output {
 public:
  void write(int, const double*) override {}
  void finish() override {}
};

}  // namespace

std::unique_ptr<Output> make_none(const Setting&) { return std::make_unique<None>(); }

}  // namespace leat::bench
