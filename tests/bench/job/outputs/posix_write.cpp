// SPDX-License-Identifier: Apache-2.0
// pwrite into a file of this rank: the least that a simulation can do by itself.
#include "tests/bench/job/outputs/outputs.hpp"
#include "tests/bench/job/plain_file.hpp"

namespace leat::bench {
namespace {

class PosixWrite : public Output {
 public:
  explicit PosixWrite(const Setting& setting)
      : plan_(setting.plan), file_(setting.own_file(".bin")) {}

  void write(int iteration, const double* data) override {
    file_.write(data, plan_.bytes, static_cast<std::size_t>(iteration) * plan_.bytes);
    if (plan_.durable) file_.sync();
  }
  void finish() override {}

 private:
  const Plan& plan_;
  PlainFile file_;
};

}  // namespace

std::unique_ptr<Output> make_posix_write(const Setting& setting) {
  return std::make_unique<PosixWrite>(setting);
}

}  // namespace leat::bench
