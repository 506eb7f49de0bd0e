// SPDX-License-Identifier: Apache-2.0
// What the server does for variables that it makes of others, by itself: bytes of a variable that go into a mean, one value of all or a
// derivative in a second, beside what memcpy has, and how long an expression takes for an element. Prints "name value" lines; derive_bench.py has NumPy beside it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "server/derive/evaluation.hpp"
#include "server/derive/gradient.hpp"
#include "server/derive/space_reduction.hpp"
#include "server/derive/sum_step.hpp"

namespace {

using namespace leat;
using namespace leat::server;

constexpr std::int64_t kElements = 1 << 22;  // 32 MiB: more than caches have
constexpr int kTimes = 9;

double median_seconds(const std::function<void()>& work) {
  std::vector<double> all;
  for (int i = 0; i < kTimes; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    work();
    all.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  std::nth_element(all.begin(), all.begin() + kTimes / 2, all.end());
  return all[kTimes / 2];
}

void print_speed(const char* name, double seconds) {
  std::printf("%s %.3f\n", name, kElements * sizeof(double) / seconds / 1e9);
}

void over_time(const char* name, model::Operation operation, const std::vector<double>& u) {
  const auto sums = Sums::open("", 1);
  Block block;
  block.extent[0] = kElements;
  Sum& sum = **(*sums)->make(block, 1, arrays_of(operation), nullptr);
  const auto parsed = model::parse_array_expression("u");
  Evaluation evaluation(parsed.expression);
  const ArrayInput input{u.data(), ScalarType::float64, {1}, true};
  std::int64_t iteration = 0;
  print_speed(name, median_seconds([&] {
                TimeStep step;
                step.iteration = iteration++;
                InPeriods in;
                in.window = {0, 1e6};
                SumStep added(operation, sum, step, in, 1);
                evaluation.run({input}, {kElements},
                               [&](std::int64_t first, const double* values, std::int64_t count) {
                                 added.add(first, values, count, nullptr);
                               });
                added.finish();
              }));
}

void over_run(const char* name, model::SpaceOperation operation, const std::vector<double>& u) {
  const auto derived = std::make_unique<model::Derived>();
  derived->reduction = model::SpaceReduction{operation, {}};
  derived->is_reduced = {1};
  Block block;
  block.extent[0] = block.global[0] = kElements;
  block.has_position = true;
  print_speed(name, median_seconds([&] {
                SpaceReducer reducer(*derived);
                (void)reducer.add(block, [&](const Evaluation::Take& take) {
                  for (std::int64_t first = 0; first < kElements; first += Evaluation::kAtOnce)
                    take(first, u.data() + first, Evaluation::kAtOnce);
                });
              }));
}

// d(u, y) of a square array, by a uniform mesh.
void derivative(const std::vector<double>& u, std::vector<double>* to) {
  constexpr std::int64_t kSide = 1 << 11;
  static_assert(kSide * kSide == kElements);
  model::Model model;
  model::Layout& layout = model.layouts.emplace_back();
  layout.has_global = true;
  layout.dimensions.resize(2);
  model.variables.emplace_back();
  model::Derived derived;
  derived.along = 0;
  derived.axis = model::Axis{0, 0.5, std::nullopt, ""};
  DerivedFrom from;
  Block block;
  block.extent[0] = block.extent[1] = block.global[0] = block.global[1] = kSide;
  block.has_position = true;
  block.data = u.data();
  from.blocks[0] = {block};
  print_speed("derivative", median_seconds([&] {
                const Gradient gradient(model, from, derived);
                (void)gradient.compute(block, to);
              }));
}

}  // namespace

int main() {
  const std::vector<double> u(kElements, 1.5), v(kElements, 2.5);
  std::vector<double> to(kElements);
  print_speed("memcpy", median_seconds(
                            [&] { std::memcpy(to.data(), u.data(), kElements * sizeof(double)); }));
  over_time("mean", model::Operation::mean, u);
  over_time("max", model::Operation::maximum, u);
  over_time("variance", model::Operation::variance, u);
  over_run("reduce-max", model::SpaceOperation::maximum, u);
  over_run("reduce-mean", model::SpaceOperation::mean, u);
  derivative(u, &to);
  const auto parsed = model::parse_array_expression("sqrt(u*u + v*v)");
  Evaluation evaluation(parsed.expression);
  const ArrayInput of_u{u.data(), ScalarType::float64, {1}, true},
      of_v{v.data(), ScalarType::float64, {1}, true};
  const double seconds = median_seconds([&] {
    evaluation.run({of_u, of_v}, {kElements},
                   [&](std::int64_t first, const double* values, std::int64_t count) {
                     from_doubles(values, count, ScalarType::float64, to.data(), first);
                   });
  });
  std::printf("expression %.3f\n", seconds / kElements * 1e9);
}
