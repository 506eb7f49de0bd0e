// SPDX-License-Identifier: Apache-2.0
// leat.hpp as a user has it. test_cpp.py reads the file; `nothrow` is the same without exceptions.
#include "client-api/api/leat.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

// What std::mdspan (C++23) looks like.
struct Columns {
  static constexpr std::size_t rank() { return 2; }
  const double* data_handle() const { return data; }
  std::size_t extent(std::size_t d) const { return d == 0 ? 3 : 2; }
  std::ptrdiff_t stride(std::size_t d) const { return d == 0 ? 1 : 3; }
  const double* data;
};

int failures = 0;

void expect(bool what, const char* text) {
  if (what) return;
  std::printf("not so: %s\n", text);
  ++failures;
}

template <class Call>
std::string error_of(leat_status status, Call call) {
#ifdef LEAT_NO_EXCEPTIONS
  expect(call() == status, "the status of a call that fails");
  return leat_last_error();
#else
  try {
    call();
  } catch (const leat::Error& e) {
    expect(e.status() == status, "the status of what is thrown");
    return e.what();
  }
  expect(false, "a call that fails throws");
  return "";
#endif
}

// Gets what was set; `narrow` is too small for it.
void get_all() {
  int n = 0;
  std::int8_t narrow = 5;
  std::uint64_t unsigned_n = 0;
  float dt = 0;
  double n_as_double = 0;
  std::string title;
  leat::get("n", n);
  leat::get("n", unsigned_n);
  leat::get("n", n_as_double);
  leat::get("dt", dt);
  leat::get("title", title);
  expect(n == 6 && unsigned_n == 6 && n_as_double == 6 && dt == 0.5F && title == "a text",
         "what leat::get gives");
  expect(error_of(LEAT_ERROR_TYPE, [&] { return leat::get("dt", n); }) ==
             "leat_get_int: parameter \"dt\" is declared double in cpp.xml: use leat_get_double",
         "the message of a wrong type of a parameter");
  leat::set("many", -300);
  error_of(LEAT_ERROR_TYPE, [&] { return leat::get("many", narrow); });
  error_of(LEAT_ERROR_TYPE, [&] { return leat::get("many", unsigned_n); });
  expect(narrow == 5 && unsigned_n == 6, "what does not fit leaves the variable alone");
}

void write_all() {
  const std::vector<double> line = {1, 2, 3, 4, 5, 6};
  leat::set("n", 6);
  leat::set("dt", 0.5);
  leat::set("title", "a text");
  get_all();
  leat::write("line", line);
  leat::write("grid", line.data(), {2, 3});
  leat::write("transposed", Columns{line.data()});
  leat::write("energy", 42.5);
  leat::write("ids", std::array<std::int32_t, 3>{7, 8, 9});
  leat::write("z", std::vector<std::complex<float>>{{1, 2}, {3, 4}});
  const leat::Array<double> memory = leat::alloc<double>("allocated");
  expect(memory.size() == 6 && memory.dims == 2 && memory.extent[0] == 2,
         "the shape of leat::alloc");
  error_of(LEAT_ERROR_ARGUMENT, [] { return leat::set_level("patches", 3, {0, 0}); });
  leat::set_level("patches", 2, {4, -6}, 3);
  leat::write("rho", line.data(), {2, 3}, 3);
  double next = 0;
  for (double& element : memory) element = next++;
  leat::commit("allocated");
  expect(leat::wanted("line"), "wanted");
  error_of(LEAT_ERROR_UNKNOWN_NAME, [] { return leat::signal("marks"); });
  leat::signal("mark");
}

void write_from_threads() {
  std::vector<std::thread> threads;
  for (std::uint32_t block = 0; block < 4; ++block) {
    threads.emplace_back([block] {
      for (int i = 0; i < 100; ++i)
        leat::write("blocks", std::vector<std::int64_t>(8, block), block);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// With LEAT=off.
void without_server() {
  leat::Session session("no such file");
  std::vector<double> own(6);
  const leat::Array<double> memory = leat::alloc<double>("allocated");
  expect(!memory.data && memory.size() == 0 && memory.begin() == memory.end(), "no memory");
  double* const cells = memory.data ? memory.data : own.data();
  for (std::size_t i = 0; i < own.size(); ++i) cells[i] = 1;
  expect(leat::commit("allocated") == LEAT_OK && own[5] == 1, "a commit of nothing");
  expect(session.finalize() == LEAT_OK, "the end");
}

}  // namespace

int main() {
  if (const char* value = std::getenv("LEAT"); value && std::string(value) == "off") {
    without_server();
    return failures;
  }
  expect(
      error_of(LEAT_ERROR_STATE, [] { return leat::end_iteration(); }).find("before leat_init") !=
          std::string::npos,
      "an error before the session");
  leat::Session session("cpp.xml");
  expect(session.status() == LEAT_OK, "the session");
  write_all();
  write_from_threads();
  leat::end_iteration();
  expect(leat::iteration() == 1, "iteration");
  expect(error_of(LEAT_ERROR_TYPE, [] { return leat::write("line", std::vector<float>(6)); })
                 .find("is declared double (line_0=6) in cpp.xml:6, got float (6)") !=
             std::string::npos,
         "the message of a wrong type");
  expect(error_of(LEAT_ERROR_LOST, [&] { return session.finalize(); }).find("\"line\"") !=
             std::string::npos,
         "finalize says what is lost");
  return failures;
}
