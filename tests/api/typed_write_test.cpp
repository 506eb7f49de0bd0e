// SPDX-License-Identifier: Apache-2.0
// The same as typed_write_test.c from C++11 on: templates see through any number of dimensions.
extern "C" {  // as codes do that take leat.h for a header of C only
#include "client-api/api/leat.h"
}

#include <array>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/api/expect.h"

namespace {

#ifdef LEAT_NO_TYPE_CHECK
constexpr bool kChecked = false;
#else
constexpr bool kChecked = true;
#endif
constexpr leat_status kMismatch = kChecked ? LEAT_ERROR_TYPE : LEAT_OK;

enum Phase : int { kSolid, kLiquid };
struct Opaque;
struct Field {
  std::vector<double> values = std::vector<double>(24);
  operator const double*() const { return values.data(); }
};

std::vector<double> reals(24);
int counts[48] = {};

template <class T>
leat_status write_all(const char* variable, const std::vector<T>& values) {
  return leat_write(variable, values.data());
}

void right_types() {
  const std::vector<float> singles(4);
  const std::array<std::int64_t, 4> ids{};
  const std::vector<long long> long_ids(4);
  const std::vector<std::uint32_t> flags(4);
  EXPECT(leat_write("reals", reals.data()), LEAT_OK);
  EXPECT(::leat_write("reals", reals.data()), LEAT_OK);
  EXPECT(leat_write("singles", singles.data()), LEAT_OK);
  EXPECT(leat_write("counts", counts), LEAT_OK);
  EXPECT(leat_write_block("counts", 1, counts), LEAT_OK);
  EXPECT(leat_write("ids", ids.data()), LEAT_OK);
  EXPECT(leat_write("ids", long_ids.data()), LEAT_OK);
  EXPECT(leat_write("flags", flags.data()), LEAT_OK);
  EXPECT(write_all("reals", reals), LEAT_OK);
}

void wrong_types() {
  unsigned flags[4] = {};
  EXPECT(leat_write("counts", reals.data()), kMismatch);
  if (kChecked) EXPECT_SAYS("\"counts\" is declared int in ");
  if (kChecked) EXPECT_SAYS("got an array of double: write one of int");
  EXPECT(leat_write_block("counts", 1, reals.data()), kMismatch);
  EXPECT(leat_write("reals", counts), kMismatch);
  EXPECT(leat_write("counts", flags), kMismatch);
  EXPECT(write_all("singles", reals), kMismatch);
}

void several_dimensions() {
  const double plane[4][6] = {};
  double cube[2][3][4] = {};
  int whole_plane[8][6] = {}, whole_cube[4][3][4] = {};
  EXPECT(leat_write("reals", plane), LEAT_OK);
  EXPECT(leat_write("reals", cube), LEAT_OK);
  EXPECT(leat_write("reals", whole_plane), kMismatch);
  EXPECT(leat_write("reals", whole_cube), kMismatch);
}

void unchecked_types() {
  const Phase phases[4] = {};
  const std::complex<double> waves[2] = {};
  const long double extended[16] = {};
  const bool truths[4] = {};
  const unsigned char bytes[4] = {};
  EXPECT(leat_write("counts", static_cast<const void*>(reals.data())), LEAT_OK);
  EXPECT(leat_write("counts", static_cast<void*>(reals.data())), LEAT_OK);
  EXPECT(leat_write("counts", phases), LEAT_OK);
  EXPECT(leat_write("waves", waves), LEAT_OK);
  EXPECT(leat_write("waves", reals.data()), LEAT_OK);
  EXPECT(leat_write("reals", extended), LEAT_OK);
  EXPECT(leat_write("reals", reinterpret_cast<const Opaque*>(reals.data())), LEAT_OK);
  EXPECT(leat_write("reals", Field()), LEAT_OK);
  EXPECT(leat_write("bytes", truths), LEAT_OK);
  EXPECT(leat_write("bytes", bytes), LEAT_OK);
  EXPECT(leat_write("bytes", "abc"), LEAT_OK);
  EXPECT(leat_write("reals", nullptr), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_write("reals", NULL), LEAT_ERROR_ARGUMENT);
  EXPECT(leat_write_block("reals", 1, nullptr), LEAT_ERROR_ARGUMENT);
}

void still_functions() {
  const auto write = leat_write;
  leat_status (*const write_block)(const char*, std::uint32_t, const void*) = &leat_write_block;
  EXPECT(write("counts", counts), LEAT_OK);
  EXPECT(write_block("counts", 1, counts), LEAT_OK);
  EXPECT((leat_write)("counts", reals.data()), LEAT_OK);
  const leat_status of_commas =
      leat_write((std::map<int, std::string>{{1, "counts"}, {2, "reals"}}.at(2).c_str()),
                 std::array<double, 24>{}.data());
  EXPECT_TRUE(of_commas == LEAT_OK);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return EXIT_FAILURE;
  EXPECT(leat_init(arguments[1]), LEAT_OK);
  right_types();
  EXPECT(leat_finalize(), LEAT_OK);

  EXPECT(leat_init(arguments[1]), LEAT_OK);
  wrong_types();
  EXPECT(leat_finalize(), kChecked ? LEAT_ERROR_LOST : LEAT_OK);
  if (kChecked) EXPECT_SAYS("5 writes of this rank failed");

  EXPECT(leat_init(arguments[1]), LEAT_OK);
  several_dimensions();
  unchecked_types();
  still_functions();
  EXPECT(leat_finalize(), LEAT_ERROR_LOST);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
