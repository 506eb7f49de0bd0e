// SPDX-License-Identifier: Apache-2.0
// What a file says of its run is what the store was told.
#include "server/plugins/hdf5/conventions/run_description.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "lib/model/seen_fields.hpp"
#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {
namespace {

class RunDescription : public testing::Test {
 protected:
  void SetUp() override {
    be_quiet();
    path_ = testing::TempDir() + "leat-run-" + std::to_string(getpid()) + ".h5";
    file_ = Id(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "a file");
  }
  void TearDown() override {
    file_ = Id();
    std::filesystem::remove(path_);
  }

  void open_again() {
    file_ = Id();
    file_ = Id(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "a file");
  }

  std::string path_;
  Id file_;
};

struct SetDefault {
  void operator()(const auto&, const auto&, const char*& text) const { text = ""; }
  void operator()(const auto&, bool usual, std::int32_t& value) const { value = usual; }
};

// Each text is another one.
struct SetOther {
  void operator()(const model::SeenField& field, const auto&, const char*& text) const {
    text = field.key;
  }
  void operator()(const auto&, bool usual, std::int32_t& value) const { value = !usual; }
};

struct ExpectSame {
  void operator()(const auto&, const auto&, const char* got, const char* wanted) const {
    EXPECT_STREQ(got, wanted);
  }
  void operator()(const auto&, const auto&, std::int32_t got, std::int32_t wanted) const {
    EXPECT_EQ(got, wanted);
  }
};

leat_variable variable_called(const char* name) {
  leat_variable variable{};
  variable.size = sizeof variable;
  variable.name = name;
  model::each_seen_field_of_Variable(SetDefault{}, variable);
  variable.type = LEAT_FLOAT64;
  variable.mesh = -1;
  variable.centering = LEAT_ZONAL;
  return variable;
}

leat_mesh mesh_called(const char* name, leat_mesh_kind kind, std::uint32_t dims) {
  leat_mesh mesh{};
  mesh.size = sizeof mesh;
  mesh.name = name;
  model::each_seen_field_of_Mesh(SetDefault{}, mesh);
  mesh.kind = kind;
  mesh.dims = dims;
  mesh.connectivity = mesh.offsets = mesh.types = -1;
  return mesh;
}

leat_run run_of(const std::vector<leat_variable>& variables, const std::vector<leat_mesh>& meshes) {
  leat_run run{};
  run.size = sizeof run;
  run.simulation = run.session = run.xml = run.time_unit = run.calendar = run.description = "";
  run.store = "out";
  run.ranks = 8;
  run.node_ranks = 4;
  run.first_rank = 4;
  run.variables = variables.data();
  run.variable_count = variables.size();
  run.variable_stride = sizeof(leat_variable);
  run.meshes = meshes.data();
  run.mesh_count = meshes.size();
  run.mesh_stride = sizeof(leat_mesh);
  run.time_parameter = -1;
  return run;
}

void expect_same(const leat_variable& got, const leat_variable& wanted) {
  EXPECT_STREQ(got.name, wanted.name);
  model::each_seen_field_of_Variable(ExpectSame{}, got, wanted);
  EXPECT_EQ(got.type, wanted.type);
  EXPECT_EQ(got.has_global, wanted.has_global);
  EXPECT_EQ(got.mesh, wanted.mesh);
  EXPECT_EQ(got.centering, wanted.centering);
  ASSERT_EQ(got.dims, wanted.dims);
  for (std::uint32_t d = 0; d < got.dims; ++d) {
    EXPECT_STREQ(got.dimension[d].name, wanted.dimension[d].name);
    EXPECT_EQ(got.dimension[d].ghost_low, wanted.dimension[d].ghost_low);
    EXPECT_EQ(got.dimension[d].ghost_high, wanted.dimension[d].ghost_high);
    EXPECT_EQ(got.dimension[d].varying, wanted.dimension[d].varying);
  }
  ASSERT_EQ(got.option_count, wanted.option_count);
  for (std::uint64_t i = 0; i < got.option_count; ++i) {
    EXPECT_STREQ(got.options[i].name, wanted.options[i].name);
    EXPECT_STREQ(got.options[i].value, wanted.options[i].value);
  }
}

void expect_same(const leat_mesh& got, const leat_mesh& wanted) {
  EXPECT_STREQ(got.name, wanted.name);
  model::each_seen_field_of_Mesh(ExpectSame{}, got, wanted);
  EXPECT_EQ(got.kind, wanted.kind);
  EXPECT_EQ(got.dims, wanted.dims);
  EXPECT_EQ(got.coordinate_count, wanted.coordinate_count);
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(got.origin[axis], wanted.origin[axis]);
    EXPECT_EQ(got.spacing[axis], wanted.spacing[axis]);
    EXPECT_EQ(got.coordinate[axis], wanted.coordinate[axis]);
  }
  EXPECT_EQ(got.connectivity, wanted.connectivity);
  EXPECT_EQ(got.offsets, wanted.offsets);
  EXPECT_EQ(got.types, wanted.types);
  EXPECT_EQ(got.cell_type, wanted.cell_type);
  if (wanted.kind != LEAT_MESH_AMR) return;
  EXPECT_EQ(got.ratio, wanted.ratio);
  EXPECT_EQ(got.levels, wanted.levels);
}

void expect_same(const leat_run& got, const leat_run& wanted) {
  EXPECT_EQ(got.ranks, wanted.ranks);
  EXPECT_EQ(got.node_ranks, wanted.ranks) << "as if one server had all of them";
  EXPECT_EQ(leat_run_first_rank(&got), 0);
  EXPECT_STREQ(got.store, wanted.store);
  EXPECT_EQ(leat_run_time_parameter(&got), wanted.time_parameter);
  EXPECT_STREQ(got.time_unit, wanted.time_unit);
  EXPECT_STREQ(got.calendar, wanted.calendar);
  ASSERT_EQ(got.variable_count, wanted.variable_count);
  for (std::uint64_t i = 0; i < got.variable_count; ++i)
    expect_same(*leat_variable_at(&got, i), *leat_variable_at(&wanted, i));
  ASSERT_EQ(leat_run_mesh_count(&got), wanted.mesh_count);
  for (std::uint64_t i = 0; i < wanted.mesh_count; ++i)
    expect_same(*leat_mesh_at(&got, i), *leat_mesh_at(&wanted, i));
}

TEST_F(RunDescription, EveryFieldComesBack) {
  const leat_option options[] = {{"chunk", "a \"quoted\" one"}, {"compression", "deflate:4"}};
  leat_variable u = variable_called("fields/u");
  model::each_seen_field_of_Variable(SetOther{}, u);
  u.description = "of the plate, \xc3\xa4\xc3\xb6";
  u.dims = 2;
  u.dimension[0] = {"y", 1, 2, 0, 0};
  u.dimension[1] = {"x", 0, 0, 1, 0};
  u.has_global = 1;
  u.mesh = 1;
  u.centering = LEAT_NODAL;
  u.options = options;
  u.option_count = 2;
  leat_mesh box = mesh_called("box", LEAT_MESH_UNIFORM, 3), cells = box;
  box.unit = "m";
  for (int axis = 0; axis < 3; ++axis) {
    box.origin[axis] = -1.0 / (axis + 3);
    box.spacing[axis] = 0.1 * (axis + 1);
  }
  cells = mesh_called("cells", LEAT_MESH_UNSTRUCTURED, 2);
  cells.coordinate_count = 2;
  cells.coordinate[0] = 1;
  cells.coordinate[1] = 2;
  cells.connectivity = 3;
  cells.cell_type = 9;
  const std::vector<leat_variable> variables{u, variable_called("x"), variable_called("y"),
                                             variable_called("c")};
  leat_mesh gas = box;
  gas.name = "gas";
  gas.kind = LEAT_MESH_AMR;
  gas.ratio = 4;
  gas.levels = 3;
  const std::vector<leat_mesh> meshes{box, cells, gas};
  leat_run run = run_of(variables, meshes);
  run.options = options;
  run.option_count = 1;
  run.time_parameter = 3;
  run.time_unit = "days since 2000-01-01";
  run.calendar = "noleap";
  set_attribute(file_, "session", "s1");
  describe_run(file_, run);
  describe_run(file_, run);  // a second time: nothing happens
  open_again();
  const DescribedRun got(file_);
  expect_same(got.run(), run);
  EXPECT_STREQ(got.run().session, "s1");
  EXPECT_EQ(leat_variable_mesh(&got.run(), leat_variable_at(&got.run(), 0)),
            leat_mesh_at(&got.run(), 1));
  EXPECT_EQ(leat_variable_mesh(&got.run(), leat_variable_at(&got.run(), 1)), nullptr);
}

TEST_F(RunDescription, AThousandVariablesFit) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i)
    names.push_back("a_group/of/variables/number_" + std::to_string(i));
  std::vector<leat_variable> variables;
  for (const std::string& name : names) {
    variables.push_back(variable_called(name.c_str()));
    variables.back().description = "a text about it that is as long as such texts are";
    variables.back().dims = 3;
    for (int d = 0; d < 3; ++d) variables.back().dimension[d] = {"z", 1, 1, 0, 0};
  }
  const leat_run run = run_of(variables, {});
  describe_run(file_, run);
  open_again();
  EXPECT_GT(text_attribute(file_, "leat_run").size(), 64u * 1024) << "HDF5's limit of attributes";
  expect_same(DescribedRun(file_).run(), run);
}

std::string why_not(hid_t file) {
  try {
    const DescribedRun run(file);
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

TEST_F(RunDescription, WhatIsNotThereOrNotSoundIsSaid) {
  EXPECT_NE(why_not(file_).find("no attribute leat_run"), std::string::npos) << why_not(file_);
  const char* const texts[][2] = {{"{", "cannot be read"},
                                  {"{\"format\": 2}", "newer version"},
                                  {"{\"format\": 1, \"ranks\": 1}", "variables"},
                                  {"{\"format\": 1, \"ranks\": 1, \"variables\": [], \"meshes\": "
                                   "[{\"name\": \"m\", \"kind\": 5, "
                                   "\"dims\": 2, \"coordinates\": [0]}]}",
                                   "that is not there"},
                                  {"{\"format\": 1, \"ranks\": 1, \"variables\": [], \"meshes\": "
                                   "[{\"name\": \"m\", \"kind\": 5, "
                                   "\"dims\": 2, \"coordinates\": [-1]}]}",
                                   "no coordinates"}};
  for (const auto& [text, why] : texts) {
    set_attribute(file_, "leat_run", text);
    EXPECT_NE(why_not(file_).find(why), std::string::npos) << why_not(file_);
    H5Adelete(file_, "leat_run");
  }
}

}  // namespace
}  // namespace leat::hdf5
