// SPDX-License-Identifier: Apache-2.0
// What `leat convert` writes of each good case is, for the reader, what the case itself is; and it is Leat's own language.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lib/model/damaris/translate.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/xml/schema.hpp"
#include "tests/config/model_dump.hpp"

namespace leat::model {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> good_cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(LEAT_CONFIG_CASES)) {
    const bool is_case = entry.path().extension() == ".xml";
    const std::string name = entry.path().stem().string();
    const bool converts = name != "sizes_to_begin_with";
    if (is_case && converts && !name.starts_with("bad_")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Conversion : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { fs::current_path(LEAT_CONFIG_CASES); }
};

TEST_P(Conversion, GivesTheSameModel) {
  const std::string file = GetParam() + ".xml";
  const ReadResult direct = read_file(file);
  const damaris::Converted converted = damaris::convert_file(file);
  ASSERT_TRUE(converted.text) << format(converted.diagnostics);
  const Schema schema;
  const ReadResult again = read_text(*converted.text, "leat.xml", schema);
  ASSERT_TRUE(direct.model && again.model) << format(again.diagnostics) << *converted.text;
  EXPECT_EQ(dump(*again.model), dump(*direct.model)) << *converted.text;
}

TEST_P(Conversion, SaysEachRemarkInACommentAndLeavesNone) {
  const damaris::Converted converted = damaris::convert_file(GetParam() + ".xml");
  ASSERT_TRUE(converted.text);
  const Schema schema;
  const ReadResult again = read_text(*converted.text, "leat.xml", schema);
  std::size_t of_the_model = 0;  // the reader warns of a model without stores, whoever wrote it
  for (const Diagnostic& each : again.diagnostics)
    of_the_model += each.message.starts_with("there is no <store>");
  EXPECT_EQ(again.diagnostics.size(), of_the_model) << format(again.diagnostics);
  std::size_t comments = 0;
  for (std::size_t at = 0; (at = converted.text->find("<!--", at)) != std::string::npos; ++at)
    ++comments;
  EXPECT_EQ(comments, 1 + converted.diagnostics.size() - of_the_model) << *converted.text;
}

TEST_P(Conversion, IsOnlyForDamaris) {
  const std::string file = testing::TempDir() + "/" + GetParam() + ".leat.xml";
  std::ofstream(file) << *damaris::convert_file(GetParam() + ".xml").text;
  const damaris::Converted twice = damaris::convert_file(file);
  EXPECT_FALSE(twice.text);
  EXPECT_NE(format(twice.diagnostics).find("there is nothing to convert"), std::string::npos);
  fs::remove(file);
}

// Whatever the values in the file make of its layouts: the program sets others.
TEST(ConversionOfSizesToBeginWith, GivesLayoutsThatMayChange) {
  fs::current_path(LEAT_CONFIG_CASES);
  const ReadResult direct = read_file("sizes_to_begin_with.xml");
  const damaris::Converted converted = damaris::convert_file("sizes_to_begin_with.xml");
  ASSERT_TRUE(direct.model && converted.text) << format(converted.diagnostics);
  EXPECT_NE(converted.text->find("varying=\"true\""), std::string::npos);
  const Schema schema;
  const ReadResult again = read_text(*converted.text, "leat.xml", schema);
  ASSERT_TRUE(again.model) << format(again.diagnostics);
  EXPECT_EQ(dump(*again.model), dump(*direct.model));
}

INSTANTIATE_TEST_SUITE_P(Files, Conversion, testing::ValuesIn(good_cases()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace leat::model
