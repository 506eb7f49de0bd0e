// SPDX-License-Identifier: Apache-2.0
// A client's table of variables without a server: the catalogue is written by the server's code.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "client-api/session/declared.hpp"
#include "client-api/session/variable_table.hpp"
#include "lib/model/expression_parser.hpp"
#include "lib/shm/segment.hpp"
#include "server/state/clients/catalogue_writer.hpp"

namespace leat::client {

inline model::Parameter integer(const std::string& name, std::int64_t value, bool has_value) {
  model::Parameter parameter;
  parameter.name = name;
  if (has_value) parameter.value = value;
  return parameter;
}

// nx=8; py is set by the simulation. "cells" (nx/py+2, nx) of the whole (nx, nx), one ghost row at
// each end; "atoms" (?, 3); "patch" (nx, nx) of the amr mesh "gas".
inline model::Model example() {
  model::Model model;
  model.parameters = {integer("nx", 8, true), integer("py", 0, false)};
  const auto expression = [&model](const std::string& text) {
    return model::Expression{text, model::parse_expression(text, model.parameters).program};
  };
  model::Layout cells, atoms;
  cells.name = "cells";
  cells.has_global = true;
  cells.where = {"heat.xml", 5, 3};
  cells.dimensions.resize(2);
  cells.dimensions[0].extent = expression("nx/py+2");
  cells.dimensions[0].ghost_low = cells.dimensions[0].ghost_high = 1;
  cells.dimensions[1].extent = expression("nx");
  for (model::Dimension& each : cells.dimensions) each.global = expression("nx");
  atoms.name = "atoms";
  atoms.dimensions.resize(2);
  atoms.dimensions[0].varying = true;
  atoms.dimensions[1].extent = expression("3");
  model::Layout patch;
  patch.name = "patch";
  patch.dimensions.resize(2);
  for (model::Dimension& each : patch.dimensions) each.extent = expression("nx");
  model.layouts = {cells, atoms, patch};
  model.meshes.resize(1);
  model.meshes[0].name = "gas";
  model.meshes[0].kind = model::Mesh::Kind::amr;
  model.meshes[0].dims = 2;
  model.stores.resize(1);
  model.stores[0].every = 5;
  model.variables.resize(4);
  model.variables[0].name = "temperature";
  model.variables[0].stores = {0};
  model.variables[1].name = "x";
  model.variables[1].layout = 1;
  model.variables[1].stores = {0};
  model.variables[2].name = "nobody";
  model.variables[3].name = "rho";
  model.variables[3].layout = 2;
  model.variables[3].mesh = 0;
  return model;
}

class Variables : public testing::Test {
 protected:
  void SetUp() override {
    const model::Model model = example();
    shm::SegmentPlan plan;
    plan.data_bytes = 1 << 20;
    plan.catalogue_bytes = server::catalogue_bytes(model);
    Result<shm::Segment> segment = shm::Segment::create(name_, plan);
    shm::Segment::remove(name_);
    ASSERT_TRUE(segment) << segment.error().message;
    segment_.emplace(std::move(*segment));
    server::write_catalogue(model, *segment_);
    table_.emplace(shm::Catalogue(*segment_), "heat.xml");
    temperature_ = static_cast<std::uint32_t>(table_->find("temperature"));
    x_ = static_cast<std::uint32_t>(table_->find("x"));
  }
  const BlockShape* shape(std::uint32_t variable, std::uint32_t block = 0) {
    return table_->shape(variable, table_->block(variable, block), &error_);
  }
  void set(const char* parameter, std::int64_t value) {
    const auto index = static_cast<std::uint32_t>(
        ParameterTable(shm::Catalogue(*segment_), "heat.xml").find(parameter));
    const Result<void> done = table_->set_integer(index, value);
    error_ = done ? Error{Status::OK, ""} : done.error();
  }
  void expect_error(Status status, const std::string& words) const {
    EXPECT_EQ(error_.status, status) << error_.message;
    EXPECT_NE(error_.message.find(words), std::string::npos) << error_.message;
  }

  const std::string name_ = "leat-test-variables-" + std::to_string(getpid());
  std::optional<shm::Segment> segment_;
  std::optional<VariableTable> table_;
  std::uint32_t temperature_ = 0, x_ = 0;
  Error error_;
};

}  // namespace leat::client
