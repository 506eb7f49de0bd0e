// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/file_stream.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lib/os/descriptor.hpp"

namespace leat::comm {
namespace {

namespace fs = std::filesystem;
using Messages = std::vector<std::string>;

class FileStream : public ::testing::Test {
 protected:
  FileStream() {
    std::string name = (fs::temp_directory_path() / "leat-files-XXXXXX").string();
    path_ = mkdtemp(name.data());
    folder_ = os::UniqueFd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~FileStream() override { fs::remove_all(path_); }

  FileWriter::State write() { return writer_.write(folder_.get(), &why_); }
  FileReader::State read(std::int64_t now_ns = 1) {
    return reader_.read(folder_.get(), now_ns, &messages_, &why_);
  }
  std::string bytes(const std::string& file) const {
    std::ifstream in(path_ / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void set_bytes(const std::string& file, const std::string& bytes) const {
    std::ofstream(path_ / file, std::ios::binary) << bytes;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), {}));
  }

  static constexpr std::int64_t kPatience = 1000;

  fs::path path_;
  os::UniqueFd folder_;
  FileWriter writer_{"s"};
  FileReader reader_{"s", kPatience};
  Messages messages_;
  std::string why_;
};

TEST_F(FileStream, CarriesMessagesOfAnySizeInOrder) {
  const std::string large(3'000'000, 'x');
  ASSERT_TRUE(writer_.send("one") && writer_.send("") && writer_.send(large));
  EXPECT_EQ(read(), FileReader::State::gone);
  EXPECT_EQ(write(), FileWriter::State::good);
  EXPECT_EQ(read(), FileReader::State::good);
  EXPECT_EQ(messages_, (Messages{"one", "", large}));
  ASSERT_TRUE(writer_.send("two"));
  EXPECT_EQ(write(), FileWriter::State::good);
  EXPECT_EQ(read(), FileReader::State::good);
  EXPECT_EQ(messages_.back(), "two");
  EXPECT_EQ(messages_.size(), 4U);
  EXPECT_FALSE(writer_.send(std::string(kMostBytesOfFrame + 1, 'x')));
  struct stat facts {};
  ASSERT_EQ(stat((path_ / "s.0").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST_F(FileStream, AFrameIsTakenWhenAllOfItIsThereAndNotBefore) {
  ASSERT_TRUE(writer_.send("first") && writer_.send("second"));
  write();
  const std::string whole = bytes("s.0");
  for (std::size_t there = 0; there <= whole.size(); ++there) {
    for (const bool has_hole : {false, true}) {  // pages that another node has not seen are zero
      reader_ = FileReader("s", kPatience);
      messages_.clear();
      set_bytes("s.0", has_hole ? whole.substr(0, there) + std::string(whole.size() - there, '\0')
                                : whole.substr(0, there));
      EXPECT_EQ(read(), FileReader::State::good);
      const std::size_t first = 16 + 5;
      EXPECT_EQ(messages_.size(), there < first ? 0U : there < whole.size() ? 1U : 2U) << there;
      set_bytes("s.0", whole);
      EXPECT_EQ(read(), FileReader::State::good);
      EXPECT_EQ(messages_, (Messages{"first", "second"})) << there;
    }
  }
}

TEST_F(FileStream, WhatIsNoFrameForLongBreaksTheStream) {
  ASSERT_TRUE(writer_.send("first") && writer_.send("second"));
  write();
  std::string changed = bytes("s.0");
  changed.back() ^= 1;
  set_bytes("s.0", changed);
  EXPECT_EQ(read(1), FileReader::State::good);
  EXPECT_EQ(read(kPatience), FileReader::State::good);
  EXPECT_EQ(read(kPatience + 2), FileReader::State::broken);
  EXPECT_EQ(messages_, Messages{"first"});
}

TEST_F(FileStream, WhatIsOfAnotherStreamIsNotTaken) {
  ASSERT_TRUE(writer_.send("first"));
  write();
  fs::rename(path_ / "s.0", path_ / "t.0");
  reader_ = FileReader("t", kPatience);
  EXPECT_EQ(read(), FileReader::State::good);
  EXPECT_TRUE(messages_.empty());
}

TEST_F(FileStream, TheReaderRemovesWhatItHasReadAndTheWriterWaitsForIt) {
  const std::string part(1 << 20, 'x');
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(writer_.send(part + std::to_string(i)));
  EXPECT_EQ(write(), FileWriter::State::late);
  EXPECT_NE(why_.find("does not read"), std::string::npos);
  EXPECT_EQ(files(), 8U);
  for (int i = 0; i < 50 && messages_.size() < 150; ++i) {
    EXPECT_EQ(read(), FileReader::State::good);
    write();
    EXPECT_LE(files(), 8U);
  }
  ASSERT_EQ(messages_.size(), 150U);
  for (int i = 0; i < 150; ++i)
    EXPECT_EQ(messages_[static_cast<std::size_t>(i)], part + std::to_string(i));
  EXPECT_EQ(files(), 1U);
}

TEST_F(FileStream, EndsWithTheLastMessageAndLeavesNoFile) {
  ASSERT_TRUE(writer_.send("last"));
  writer_.end();
  write();
  EXPECT_EQ(read(), FileReader::State::ended);
  EXPECT_EQ(messages_, Messages{"last"});
  EXPECT_EQ(files(), 0U);
}

TEST_F(FileStream, AWriterSeesThatItsFileWasRemovedAndMakesNoOther) {
  ASSERT_TRUE(writer_.send("one"));
  write();
  EXPECT_TRUE(writer_.is_there(folder_.get()));
  fs::remove(path_ / "s.0");
  EXPECT_FALSE(writer_.is_there(folder_.get()));
  ASSERT_TRUE(writer_.send("two"));
  EXPECT_EQ(write(), FileWriter::State::gone);
  EXPECT_EQ(files(), 0U);
}

TEST_F(FileStream, DoesNotFollowALink) {
  set_bytes("elsewhere", "");
  fs::create_symlink("elsewhere", path_ / "s.0");
  ASSERT_TRUE(writer_.send("one"));
  EXPECT_EQ(write(), FileWriter::State::late);
  EXPECT_EQ(read(), FileReader::State::late);
  EXPECT_EQ(bytes("elsewhere"), "");
}

}  // namespace
}  // namespace leat::comm
