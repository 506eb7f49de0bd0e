// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.hpp"

#include <gtest/gtest.h>

namespace leat {
namespace {

TEST(Suggest, TakesTheNearestNameAndNoneThatIsFar) {
  const std::vector<std::string> names = {"temperature", "pressure", "velocity"};
  EXPECT_EQ(nearest_name("temprature", names), "temperature");
  EXPECT_EQ(nearest_name("Pressure", names), "pressure");
  EXPECT_EQ(nearest_name("zzz", names), "");
  EXPECT_EQ(nearest_name("anything", {}), "");
}

TEST(Suggest, KnowsLongAndShortFormsAndOtherCase) {
  const std::vector<std::string> levels = {"debug", "info", "warning", "error"};
  EXPECT_EQ(nearest_name("warn", levels), "warning");
  EXPECT_EQ(nearest_name("HDF5", {"hdf5", "trace"}), "hdf5");
  EXPECT_EQ(nearest_name("integer", {"int", "double"}), "int");
  EXPECT_EQ(nearest_name("temp", {"temperature", "temporal"}), "") << "two could be meant";
  EXPECT_EQ(nearest_name("wa", levels), "") << "too short to say anything";
}

TEST(Suggest, MakesNoGuessFromOneLetter) {
  EXPECT_EQ(nearest_name("T", {"p", "t"}), "t");
  EXPECT_EQ(nearest_name("u", {"p", "t"}), "");
  EXPECT_EQ(nearest_name("uu", {"u", "p"}), "u");
}

TEST(Suggest, ListsTheNamesWhenNoneIsNear) {
  EXPECT_EQ(did_you_mean("zzz", {"p", "q"}), "; there are: \"p\", \"q\"");
  EXPECT_EQ(did_you_mean("vell", {"vel"}), "; did you mean \"vel\"?");
  EXPECT_EQ(did_you_mean("x", {}), "");
  const std::vector<std::string> many(20, "name");
  EXPECT_TRUE(did_you_mean("zzz", many).ends_with("\"name\", ..."));
}

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u) << "a swap is one slip";
}

}  // namespace
}  // namespace leat
