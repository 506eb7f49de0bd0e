// SPDX-License-Identifier: Apache-2.0
#include "client-api/module/mapped_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace {

using namespace leat;
using module::MappedFiles;

os::UniqueFd file_with(const std::string& text) {
  os::UniqueFd file = os::memory_file("leat-test");
  EXPECT_TRUE(os::write_at(file.get(), text.data(), text.size(), 0));
  return file;
}

std::string path_of(const os::UniqueFd& file) {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file.get());
}

std::string text_at(MappedFiles& files, const std::string& memory, std::uint64_t offset,
                    std::uint64_t bytes) {
  const Result<const void*> data = files.at(memory, offset, bytes);
  return data ? std::string(static_cast<const char*>(*data), bytes) : data.error().message;
}

TEST(MappedFiles, BytesAreReadWhereTheyLie) {
  MappedFiles files(file_with("segment"), file_with("constants"));
  const os::UniqueFd other = file_with("other");
  EXPECT_EQ(text_at(files, "segment", 3, 4), "ment");
  EXPECT_EQ(text_at(files, "constants", 0, 4), "cons");
  EXPECT_EQ(text_at(files, path_of(other), 1, 4), "ther");
}

TEST(MappedFiles, WhatIsOutsideOfTheFileIsAnErrorWithBothNumbers) {
  MappedFiles files(file_with("segment"), file_with("constants"));
  EXPECT_NE(
      text_at(files, "segment", 3, 5).find("up to byte 8 of the memory \"segment\", which has 7"),
      std::string::npos);
  EXPECT_FALSE(files.at("segment", UINT64_MAX, 2));
  EXPECT_FALSE(files.at("segment", INT64_MAX, 1));
  EXPECT_FALSE(files.at("/no/such/file", 0, 1));
  EXPECT_NE(text_at(files, "/no/such/file", 0, 1).find("No such file"), std::string::npos);
}

TEST(MappedFiles, AFileThatGrowsIsMappedAgainAndWhatWasGivenStaysUntilTheTurnEnds) {
  const os::UniqueFd file = file_with("first");
  MappedFiles files(file_with(""), os::UniqueFd(dup(file.get())));
  const Result<const void*> first = files.at("constants", 0, 5);
  ASSERT_TRUE(first);
  ASSERT_TRUE(os::write_at(file.get(), "second", 6, 5));
  EXPECT_EQ(text_at(files, "constants", 5, 6), "second");
  EXPECT_EQ(std::memcmp(*first, "first", 5), 0);
  files.end_turn();
  EXPECT_EQ(text_at(files, "constants", 0, 5), "first");
}

// As the output memory of a module that was started again, whose descriptor has the number of one before.
TEST(MappedFiles, APathThatIsAnotherFileByNowIsReadAnew) {
  MappedFiles files(file_with(""), file_with(""));
  auto file = std::make_unique<os::UniqueFd>(file_with("before"));
  const std::string path = path_of(*file);
  EXPECT_EQ(text_at(files, path, 0, 6), "before");
  files.end_turn();
  const int number = file->get();
  file.reset();
  const os::UniqueFd other = file_with("behind");
  const os::UniqueFd again(other.get() == number ? -1 : dup2(other.get(), number));
  EXPECT_EQ(text_at(files, path, 0, 6), "behind");
}

TEST(MappedFiles, OfManyFilesTheOnesThatWereNotUsedForLongestAreLeft) {
  MappedFiles files(file_with(""), file_with(""));
  std::vector<os::UniqueFd> many;
  for (int i = 0; i < 40; ++i) {
    many.push_back(file_with(std::to_string(100 + i)));
    EXPECT_EQ(text_at(files, path_of(many.back()), 0, 3), std::to_string(100 + i));
    files.end_turn();
  }
  EXPECT_EQ(text_at(files, path_of(many.front()), 0, 3), "100");
}

}  // namespace
