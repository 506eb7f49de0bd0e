// SPDX-License-Identifier: Apache-2.0
#include "lib/os/child_process.hpp"

#include <gtest/gtest.h>

#include "lib/os/clock.hpp"

namespace leat::os {
namespace {

constexpr std::int64_t kLongNs = 30'000'000'000;
constexpr std::int64_t kShortNs = 200'000'000;

Result<std::string> run_shell(const std::string& script, const std::string& input = "",
                              std::int64_t timeout_ns = kLongNs) {
  return run_program({"/bin/sh", "-c", script}, input, timeout_ns);
}

TEST(RunProgram, GivesBackWhatTheProgramMakesOfItsInput) {
  const std::string large(3 << 20, 'x');  // more than a pipe takes
  EXPECT_EQ(*run_shell("cat; echo done", large), large + "done\n");
  EXPECT_EQ(*run_shell("cat"), "");
}

TEST(RunProgram, SaysHowTheProgramEnded) {
  EXPECT_EQ(run_shell("echo no; exit 3").error().message, "/bin/sh ended with status 3");
  EXPECT_NE(run_shell("kill -9 $$").error().message.find("killed by signal 9"), std::string::npos);
}

TEST(RunProgram, SaysWhenThereIsNoSuchProgram) {
  EXPECT_NE(run_program({"/no/such"}, "", kLongNs).error().message.find("/no/such"),
            std::string::npos);
}

TEST(RunProgram, EndsAProgramThatIsLateWithWhatItStarted) {
  for (const char* script : {"sleep 100 & sleep 100", "exec >&-; sleep 100"}) {
    const std::int64_t began_ns = now_ns();
    const Result<std::string> result = run_shell(script, "", kShortNs);
    EXPECT_EQ(result.error().status, Status::ERROR_TIMEOUT) << script;
    EXPECT_LT(now_ns() - began_ns, kLongNs / 2) << script;
  }
}

}  // namespace
}  // namespace leat::os
