// SPDX-License-Identifier: Apache-2.0
#include "lib/os/shared_library.hpp"

#include <elf.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/unit/os/temporary_folder.hpp"

namespace leat::os {
namespace {

using Constant = std::array<unsigned, 4>;

class SharedLibrary : public TemporaryFolder {
 protected:
  // The bytes of the library in a file of their own.
  std::string written(const std::string& bytes) const {
    const std::string path = base_ + "/library.so";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string refusal(const std::string& path, const std::string& symbol,
                             std::size_t bytes = sizeof(Constant)) {
    std::string room(bytes, '\0');
    const Result<void> peeked = peek_exported(path, symbol, room.data(), bytes);
    return peeked ? "" : peeked.error().message;
  }
  static bool says(const std::string& message, const std::string& part) {
    return message.find(part) != std::string::npos;
  }
  const std::string library_ = LEAT_PEEKED_LIBRARY;
};

TEST_F(SharedLibrary, ShowsAConstantAndRunsNothing) {
  unsetenv("LEAT_TEST_CONSTRUCTOR");
  Constant seen{};
  const Result<void> peeked = peek_exported(library_, "leat_constant", seen.data(), sizeof seen);
  ASSERT_TRUE(peeked) << peeked.error().message;
  EXPECT_EQ(seen, (Constant{7, 16, 4711, 42}));
  EXPECT_EQ(std::getenv("LEAT_TEST_CONSTRUCTOR"), nullptr);
}

TEST_F(SharedLibrary, ShowsOnlyWhatItExportsWhole) {
  EXPECT_TRUE(says(refusal(library_, "leat_constan"), "does not export \"leat_constan\""));
  EXPECT_TRUE(says(refusal(library_, "leat_constant_"), "does not export"));
  EXPECT_TRUE(says(refusal(library_, "leat_elsewhere"), "does not export")) << "it only needs it";
  EXPECT_TRUE(says(refusal(library_, "leat_constant", 17), "is too short"));
  EXPECT_TRUE(says(refusal(library_, "leat_zeroed"), "is not a constant in the file"));
}

TEST_F(SharedLibrary, SaysWhichFileItWas) {
  EXPECT_TRUE(
      says(refusal(base_ + "/no.so", "x"), base_ + "/no.so\" cannot be used: No such file"));
  EXPECT_TRUE(says(refusal(base_, "x"), "not a shared library for this machine"));
  EXPECT_TRUE(says(refusal(written("#!/bin/sh\n"), "x"), "not a shared library"));
}

TEST_F(SharedLibrary, OfAnotherMachineOrKindIsRefused) {
  const auto with = [this](std::size_t at, char value) {
    std::string bytes = bytes_of(library_);
    bytes[at] = value;
    return refusal(written(bytes), "leat_constant");
  };
  ASSERT_EQ(with(EI_PAD, 0), "") << "the copy itself is good";
  EXPECT_TRUE(says(with(EI_CLASS, ELFCLASS32), "for this machine"));
  EXPECT_TRUE(says(with(offsetof(Elf64_Ehdr, e_machine), EM_SPARC), "for this machine"));
  EXPECT_TRUE(says(with(offsetof(Elf64_Ehdr, e_type), ET_EXEC), "for this machine"));
}

// The list of sections is the end of the file: without it no symbol is found.
TEST_F(SharedLibrary, ThatIsCutOffAnywhereBeforeItsSectionsIsRefused) {
  const std::string whole = bytes_of(library_);
  Elf64_Ehdr header;
  ASSERT_GT(whole.size(), sizeof header);
  std::memcpy(&header, whole.data(), sizeof header);
  for (std::size_t length = 0; length <= header.e_shoff; length += 197) {
    EXPECT_NE(refusal(written(whole.substr(0, length)), "leat_constant"), "") << length;
  }
}

// Whatever is in the file, an answer comes, and nothing outside of the room is written (under the
// address sanitizer).
TEST_F(SharedLibrary, WithWrongBytesGivesAnAnswer) {
  const std::string whole = bytes_of(library_);
  std::mt19937 random(3);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    // Half of the wrong bytes hit the header, the others any place.
    for (int wrong = 0; wrong < 4; ++wrong) {
      bytes[random() % (wrong % 2 ? bytes.size() : 64)] = static_cast<char>(random());
    }
    refused += !refusal(written(bytes), "leat_constant").empty();
  }
  EXPECT_GT(refused, 100);
}

TEST_F(SharedLibrary, IsLoadedOnlyWhenNothingIsMissing) {
  const Result<const void*> found = load_symbol(library_, "leat_constant");
  ASSERT_FALSE(found) << "leat_elsewhere is nowhere";
  EXPECT_TRUE(says(found.error().message, "leat_elsewhere")) << found.error().message;
}

TEST_F(SharedLibrary, ThatIsGoodIsLoadedAndGivesItsSymbol) {
  const Result<const void*> found = load_symbol("libc.so.6", "getpid");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(says(load_symbol("libc.so.6", "leat_nothing").error().message, "does not export"));
}

}  // namespace
}  // namespace leat::os
