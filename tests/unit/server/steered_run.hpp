// SPDX-License-Identifier: Apache-2.0
// A model and a segment to steer, without a server around them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"

namespace leat::server {

/// Indices of what can be steered. "nx" and "ny" shape the layout "cells".
enum : std::uint32_t { kCount, kStep, kTitle, kNx, kNy, kParameters };

inline model::Parameter parameter(const char* name, model::Parameter::Kind kind, int line) {
  model::Parameter made;
  made.name = name;
  made.kind = kind;
  made.where = {"run.xml", line, 1};
  return made;
}

inline model::Expression reading(std::uint32_t parameter) {
  return {"", {ExpressionOp{ExpressionOp::parameter, parameter, 0}}};
}

inline model::Model steered_model() {
  using Kind = model::Parameter::Kind;
  model::Model model;
  model.parameters = {parameter("count", Kind::integer, 4), parameter("step", Kind::real, 5),
                      parameter("title", Kind::text, 6), parameter("nx", Kind::integer, 7),
                      parameter("ny", Kind::integer, 8)};
  model.parameters[kStep].value = 0.1;
  model::Layout cells;
  cells.name = "cells";
  cells.dimensions.resize(1);
  cells.dimensions[0].extent = reading(kNx);
  cells.dimensions[0].global = reading(kNy);
  model.layouts = {cells};
  return model;
}

/// Segments that go when the test ends: a script's process opens them by name until then.
struct SteeredSegments {
  SteeredSegments() = default;
  SteeredSegments(const SteeredSegments&) = delete;
  SteeredSegments& operator=(const SteeredSegments&) = delete;
  ~SteeredSegments() {
    for (const std::string& name : names) shm::Segment::remove(name);
  }
  std::vector<std::string> names;
};

inline shm::Segment steered_segment(std::uint32_t clients) {
  static SteeredSegments made_here;
  shm::SegmentPlan plan;
  plan.clients = clients;
  plan.data_bytes = 1 << 20;
  plan.catalogue_bytes = 4096;
  plan.parameters = kParameters;
  const std::string name = "leat-test-steered-" + std::to_string(getpid()) + "-" +
                           std::to_string(made_here.names.size());
  Result<shm::Segment> made = shm::Segment::create(name, plan);
  EXPECT_TRUE(made) << name << ": " << made.error().message;
  made_here.names.push_back(name);
  return std::move(*made);
}

struct SteeredRun {
  explicit SteeredRun(std::uint32_t clients) : segment(steered_segment(clients)) {}
  model::Model model = steered_model();
  shm::Segment segment;
};

}  // namespace leat::server
