// SPDX-License-Identifier: Apache-2.0
// What fields.def says of the XML is what the schema says.
#include "lib/model/fields.hpp"

#include <gtest/gtest.h>

#include "lib/model/read_steps.hpp"

namespace leat::model {
namespace {

class Fields : public testing::Test {
 protected:
  template <class Struct>
  void expect_the_defaults_of(const std::string& element_name) {
    XmlElement element;
    element.name = element_name;
    const ElementRule* rule = schema_.find(element_name);
    ASSERT_NE(rule, nullptr) << element_name;
    Model model;
    DiagnosticList diagnostics;
    ReadContext context{schema_, diagnostics, model};
    Struct read;
    Attributes(context, element).read_fields(&read);
    each_field(read, [&](const Field& field, const auto& value, const auto& usual) {
      if (!*field.attribute) return;
      EXPECT_NE(rule->find(field.attribute), nullptr) << element_name << " " << field.attribute;
      EXPECT_TRUE(value == usual) << element_name << " " << field.attribute;
    });
  }

  const Schema schema_;
};

TEST_F(Fields, HaveTheDefaultsOfTheSchema) {
  expect_the_defaults_of<Model>("simulation");
  expect_the_defaults_of<DedicatedFields>("dedicated");
  expect_the_defaults_of<BufferFields>("buffer");
  expect_the_defaults_of<NetworkFields>("network");
  expect_the_defaults_of<Log>("log");
  expect_the_defaults_of<Parameter>("parameter");
  expect_the_defaults_of<TimeAxis>("time");
  expect_the_defaults_of<Layout>("layout");
  expect_the_defaults_of<Mesh>("mesh");
  expect_the_defaults_of<Variable>("variable");
  expect_the_defaults_of<Store>("store");
  expect_the_defaults_of<Scripts>("scripts");
  expect_the_defaults_of<ScriptSource>("script");
  expect_the_defaults_of<ScriptSource>("folder");
  expect_the_defaults_of<ForeignScript>("script");
  expect_the_defaults_of<DaskScheduler>("dask");
  expect_the_defaults_of<Event>("event");
}

}  // namespace
}  // namespace leat::model
