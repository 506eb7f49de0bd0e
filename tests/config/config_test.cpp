// SPDX-License-Identifier: Apache-2.0
// Each <case>.xml of this folder is read, from this folder, and held against <case>.expect: its first line is
// "errors: N" for a bad file or "good"; every other line is part of what the reader says, or of the dump of the model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/model/reader.hpp"
#include "tests/config/model_dump.hpp"

namespace leat::model {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(LEAT_CONFIG_CASES)) {
    if (entry.path().extension() == ".xml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class ConfigCase : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    fs::current_path(LEAT_CONFIG_CASES);
    setenv("LEAT_TEST_NAME", "from_env", 1);
    setenv("LEAT_TEST_MARKUP", "\"><data/><x a=\"", 1);
    unsetenv("LEAT_TEST_UNDEFINED");
  }
};

TEST_P(ConfigCase, IsReadAsItsExpectFileSays) {
  const std::vector<std::string> expected = lines_of(GetParam() + ".expect");
  ASSERT_FALSE(expected.empty()) << GetParam() << ".expect is missing or empty";
  const ReadResult result = read_file(GetParam() + ".xml");
  const std::string text =
      format(result.diagnostics) + (result.model ? dump(*result.model) : std::string());
  const auto errors =
      std::count_if(result.diagnostics.begin(), result.diagnostics.end(),
                    [](const Diagnostic& each) { return each.severity == Severity::error; });
  EXPECT_EQ(errors ? "errors: " + std::to_string(errors) : "good", expected[0]) << text;
  EXPECT_EQ(result.model.has_value(), errors == 0);
  for (std::size_t i = 1; i < expected.size(); ++i) {
    EXPECT_NE(text.find(expected[i]), std::string::npos) << "missing: " << expected[i] << "\nin:\n"
                                                         << text;
  }
}

TEST_P(ConfigCase, SpeaksNoneOfTheJargonOfXerces) {
  const std::string text = format(read_file(GetParam() + ".xml").diagnostics);
  for (const char* jargon : {"declaration", "content model", "datatype", "grammar", "facet"}) {
    EXPECT_EQ(text.find(jargon), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ConfigCase, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace leat::model
