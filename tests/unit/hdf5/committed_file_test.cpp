// SPDX-License-Identifier: Apache-2.0
// A file of structures that change with each commit, as HDF5 makes one: each of its writes in turn
// is refused, cut short, or the last that its process makes.
#include "server/plugins/hdf5/disk/committed_file.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "server/plugins/hdf5/disk/file_space.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"

namespace {

enum class Fault { none, refused, full, cut_short, killed };
struct {
  Fault fault = Fault::none;
  int at = 0;  // which write, from 1 on
  int writes = 0;
  int reads = 0;
} disk;

}  // namespace

// In the place of the C library's own.
extern "C" ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) {
  static const auto real =
      reinterpret_cast<ssize_t (*)(int, const void*, size_t, off_t)>(dlsym(RTLD_NEXT, "pwrite"));
  if (++disk.writes == disk.at) {
    if (disk.fault == Fault::killed) _exit(0);
    if (disk.fault == Fault::cut_short) return real(file, from, (bytes + 1) / 2, at);
    if (disk.fault != Fault::none) {
      errno = disk.fault == Fault::full ? ENOSPC : EIO;
      return -1;
    }
  }
  return real(file, from, bytes, at);
}

extern "C" ssize_t pread(int file, void* to, size_t bytes, off_t at) {
  static const auto real =
      reinterpret_cast<ssize_t (*)(int, void*, size_t, off_t)>(dlsym(RTLD_NEXT, "pread"));
  ++disk.reads;
  return real(file, to, bytes, at);
}

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStructures = 5, kBytes = 900;
constexpr int kCommits = 6;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "leat-committed-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    disk = {};
  }
  void TearDown() override {
    disk = {};
    fs::remove_all(folder_);
  }
  std::string path() const { return folder_ / "run.h5"; }

  fs::path folder_;
};

// What a structure has after so many commits: few bytes of it change. The last one names the commit
// for readers.
std::vector<unsigned char> content(std::size_t structure, int commit) {
  std::vector<unsigned char> bytes(kBytes, static_cast<unsigned char>('a' + structure));
  for (const std::size_t at : {std::size_t{3}, kBytes / 2 + structure})
    bytes[at] = static_cast<unsigned char>(commit);
  return bytes;
}

class Writer {
 public:
  explicit Writer(const std::string& path)
      : file_(path, CommittedFile::Start::anew, Durability::none) {
    for (std::uint64_t& place : places_) EXPECT_EQ(file_.allocate(kBytes, false, &place), 0);
  }
  // Data first, then all structures but the last, then that one: as the store does it.
  int commit(int number) {
    std::uint64_t data = 0;
    if (int code = file_.allocate(2000, true, &data); code != 0) return code;
    const std::vector<unsigned char> bulk(2000, 'x');
    if (int code = file_.write(data, bulk.data(), bulk.size(), true); code != 0) return code;
    for (std::size_t s = 0; s + 1 < kStructures; ++s) write(s, number);
    if (int code = file_.stage(); code != 0) return code;
    write(kStructures - 1, number);
    return file_.commit();
  }
  CommittedFile& file() { return file_; }
  const std::uint64_t* places() const { return places_; }

 private:
  void write(std::size_t structure, int number) {
    const std::vector<unsigned char> bytes = content(structure, number);
    file_.write(places_[structure], bytes.data(), bytes.size(), false);
  }

  CommittedFile file_;
  std::uint64_t places_[kStructures] = {};
};

std::vector<unsigned char> in_file(const std::string& path, std::uint64_t at) {
  std::vector<unsigned char> bytes(kBytes);
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// The commit that the file is at; -1 when it is a mixture.
int commit_in(const std::string& path, const std::uint64_t* places) {
  const int number = in_file(path, places[kStructures - 1])[3];
  for (std::size_t s = 0; s < kStructures; ++s) {
    if (in_file(path, places[s]) != content(s, number)) return -1;
  }
  return number;
}

// How many writes a run has before its commit `number`, the first being 1.
int writes_before(const std::string& path, int number) {
  Writer writer(path);
  EXPECT_EQ(writer.commit(1), 0);
  EXPECT_EQ(writer.file().publish(), 0);
  for (int i = 2; i < number; ++i) EXPECT_EQ(writer.commit(i), 0);
  const int writes = disk.writes;
  disk = {};
  fs::remove(path);
  return writes;
}

class EachWrite : public Files, public ::testing::WithParamInterface<Fault> {};

TEST_P(EachWrite, that_is_refused_or_cut_short_is_made_by_the_next_commit) {
  const int first = writes_before(path(), 2) + 1, last = writes_before(path(), kCommits);
  ASSERT_GT(last, first + 10);
  for (int at = first; at <= last; ++at) {
    Writer writer(path());
    ASSERT_EQ(writer.commit(1), 0);
    ASSERT_EQ(writer.file().publish(), 0);
    disk.fault = GetParam();
    disk.at = at;
    int failed = 0;
    for (int i = 2; i <= kCommits; ++i) {
      const int code = writer.commit(i);
      if (code != 0) {
        ++failed;
        EXPECT_EQ(code, GetParam() == Fault::full ? ENOSPC : EIO);
        EXPECT_EQ(writer.commit(i), 0);
      }
      EXPECT_EQ(commit_in(path(), writer.places()), i) << "write " << at;
    }
    EXPECT_EQ(failed, GetParam() == Fault::cut_short ? 0 : 1) << "write " << at;
    EXPECT_EQ(writer.file().finish(), 0);
    EXPECT_EQ(finish_last_commit(path()).kind, LastCommit::Kind::whole);
    disk = {};
    fs::remove(path());
  }
}

INSTANTIATE_TEST_SUITE_P(faults, EachWrite,
                         ::testing::Values(Fault::refused, Fault::full, Fault::cut_short),
                         [](const auto& info) {
                           return info.param == Fault::refused ? "refused"
                                  : info.param == Fault::full  ? "full"
                                                               : "cut_short";
                         });

TEST_F(Files, that_are_left_before_any_write_are_as_after_a_commit) {
  const int first = writes_before(path(), 2) + 1, last = writes_before(path(), kCommits);
  int finished = 0;
  const Writer other(folder_ / "other.h5");  // has given away the same places
  disk = {};
  for (int at = first; at <= last; ++at) {
    const pid_t child = ::fork();
    if (child == 0) {
      Writer writer(path());
      if (writer.commit(1) != 0 || writer.file().publish() != 0) _exit(1);
      disk.fault = Fault::killed;
      disk.at = at;
      for (int i = 2; i <= kCommits; ++i) writer.commit(i);
      _exit(2);  // it was to end before
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    const LastCommit commit = finish_last_commit(path());
    EXPECT_NE(commit.kind, LastCommit::Kind::not_finished) << commit.why;
    finished += commit.was_finished();
    EXPECT_GE(commit_in(path(), other.places()), 1) << "write " << at;
    disk = {};
    fs::remove(path());
  }
  EXPECT_GT(finished, 0);
}

TEST_F(Files, whose_writer_knows_what_it_wrote_are_not_read_back) {
  Writer writer(path());
  ASSERT_EQ(writer.commit(1), 0);
  ASSERT_EQ(writer.file().publish(), 0);
  disk = {};
  ASSERT_EQ(writer.commit(2), 0);
  EXPECT_EQ(disk.reads, 0);
  // Data, journal, two words in it, what is staged, what comes after it.
  EXPECT_EQ(disk.writes, 6);
}

TEST(FileSpace, have_structures_side_by_side_and_large_pieces_on_pages) {
  FileSpace places;
  EXPECT_EQ(places.take(96, false), 0u);
  const std::uint64_t small = places.take(10, true), large = places.take(200'001, true);
  EXPECT_EQ(places.take(100, false), 96u);
  EXPECT_EQ(large % 4096, 0u);
  EXPECT_GE(large, small + 10);
  EXPECT_GE(places.take(8, true), large + 200'001);
  EXPECT_GT(places.end(), places.next());
}

TEST(FileSpace, are_new_until_a_commit_in_an_arena_too) {
  FileSpace places;
  const std::uint64_t before = places.take(96, false);
  EXPECT_TRUE(places.is_new(before));
  places.commit();
  const std::uint64_t after = places.take(96, false);
  EXPECT_FALSE(places.is_new(before));
  EXPECT_TRUE(places.is_new(after));
  EXPECT_TRUE(places.is_new(places.take(1 << 20, true)));
}

TEST(FileSpace, have_arenas_that_are_small_in_small_files) {
  FileSpace small, large(100u << 20);
  small.take(96, false);
  large.take(96, false);
  EXPECT_EQ(small.next(), 16u << 10);
  EXPECT_EQ(large.next(), (100u << 20) + (64u << 10));
}

TEST(FileSpace, of_a_writer_that_was_killed_are_not_used_again) {
  FileSpace places(5000);
  places.set_end(1000);  // HDF5 knows of so much
  EXPECT_GE(places.take(96, false), 5000u);
  EXPECT_GE(places.take(96, true), 5000u);
}

}  // namespace
}  // namespace leat::hdf5
