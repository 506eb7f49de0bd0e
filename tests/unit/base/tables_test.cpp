// SPDX-License-Identifier: Apache-2.0
// The tables from which C, Fortran, Python and the docs take their numbers. A number that is out in
// the world is never given to another name.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "lib/base/scalar.hpp"
#include "lib/base/status.hpp"
#include "lib/base/text.hpp"

namespace leat {
namespace {

struct StatusRow {
  const char* name;
  int value;
  const char* meaning;
};

constexpr StatusRow kStatuses[] = {
#define LEAT_STATUS(name, value, meaning) {#name, value, meaning},
#include "lib/base/status.def"
#undef LEAT_STATUS
};

TEST(Status, EachHasANameAndAMeaningOfItsOwn) {
  std::set<std::string> meanings;
  for (const StatusRow& row : kStatuses) {
    const auto status = static_cast<Status>(row.value);
    EXPECT_STREQ(status_name(status), row.name);
    EXPECT_STREQ(status_meaning(status), row.meaning);
    EXPECT_TRUE(meanings.insert(row.meaning).second) << row.name;
  }
}

TEST(Status, ErrorsAreNegativeAndNothingElseIs) {
  for (const StatusRow& row : kStatuses) {
    EXPECT_EQ(std::string(row.name).starts_with("ERROR_"), row.value < 0) << row.name;
  }
}

TEST(Status, KeepsTheNumbersThatUsersHaveCompiledIn) {
  EXPECT_EQ(static_cast<int>(Status::OK), 0);
  EXPECT_EQ(static_cast<int>(Status::UNWANTED), 1);
  EXPECT_EQ(static_cast<int>(Status::DROPPED), 2);
  EXPECT_EQ(static_cast<int>(Status::ERROR_ARGUMENT), -1);
  EXPECT_EQ(static_cast<int>(Status::ERROR_FULL), -8);
  EXPECT_EQ(static_cast<int>(Status::ERROR_INTERNAL), -15);
}

TEST(Status, OfANumberThatIsNoneIsSaidToBeSo) {
  EXPECT_STREQ(status_name(static_cast<Status>(4711)), "UNKNOWN");
  EXPECT_STREQ(status_meaning(static_cast<Status>(4711)), "not a status of Leat");
}

struct ScalarRow {
  ScalarType type;
  const char *name, *alias;
  std::size_t bytes;
};

constexpr ScalarRow kScalars[] = {
#define LEAT_SCALAR(id, value, name, alias, bytes, numpy) {ScalarType::id, name, alias, bytes},
#include "lib/base/scalar_types.def"
#undef LEAT_SCALAR
};

TEST(Scalar, EachIsFoundByItsNameAndByItsOtherName) {
  for (const ScalarRow& row : kScalars) {
    EXPECT_EQ(scalar_from_name(row.name), row.type);
    EXPECT_TRUE(!*row.alias || scalar_from_name(row.alias) == row.type) << row.alias;
    EXPECT_STREQ(scalar_name(row.type), row.name);
    EXPECT_EQ(scalar_bytes(row.type), row.bytes) << row.name;
  }
}

TEST(Scalar, OfFortranIsFoundInLettersOfEitherCase) {
  for (const char* name : {"REAL(8)", "Real*8", "real(kind=8)", "REAL(KIND=8)", "Double Precision"})
    EXPECT_EQ(scalar_from_name(name), ScalarType::float64) << name;
  EXPECT_EQ(scalar_from_name("REAL(kind=4)"), ScalarType::float32);
  EXPECT_EQ(scalar_from_name("INTEGER(KIND=8)"), ScalarType::int64);
  EXPECT_EQ(scalar_from_name("Complex(kind=8)"), ScalarType::complex128);
  EXPECT_EQ(scalar_from_name("F8"), std::nullopt);
}

TEST(Scalar, KnowsTheBytesOfEachType) {
  EXPECT_EQ(scalar_bytes(ScalarType::int8), 1u);
  EXPECT_EQ(scalar_bytes(ScalarType::float64), 8u);
  EXPECT_EQ(scalar_bytes(ScalarType::complex128), 16u);
}

TEST(Scalar, RefusesWhatIsNone) {
  EXPECT_EQ(scalar_from_name(""), std::nullopt);
  EXPECT_EQ(scalar_from_name("Double"), std::nullopt);
  EXPECT_EQ(scalar_bytes(static_cast<ScalarType>(0)), 0u);
  EXPECT_STREQ(scalar_name(static_cast<ScalarType>(99)), "unknown");
}

TEST(FormatBytes, TakesTheUnitThatSaysMost) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(64 << 20), "64 MiB");
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1.0 MiB") << "not 1024 KiB; not exact either";
  EXPECT_EQ(format_bytes(UINT64_MAX), "16 EiB");
}

}  // namespace
}  // namespace leat
