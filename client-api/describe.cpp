// SPDX-License-Identifier: Apache-2.0
// Asks leatd what an XML says, for libraries that must know it before there is a session.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "client-api/last_error.hpp"
#include "client-api/leat_describe.h"
#include "client-api/rendezvous.hpp"
#include "client-api/switched_off.hpp"
#include "lib/base/status.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/process.hpp"

namespace leat::client {
namespace {

// To read the largest of files takes a second.
constexpr std::int64_t kDescribeLimitNs = 60'000'000'000;
constexpr std::int64_t kDescriberEndsNs = 2'000'000'000;
constexpr char kDescribed[] = "described\n";

Result<std::string> answer_of(const std::string& server, const std::string& config) {
  const platform::Deadline deadline = platform::Deadline::in_ns(kDescribeLimitNs);
  Result<platform::Child> child = platform::spawn(
      {server, "--describe", config, "--report-fd", std::to_string(platform::kReportFd)});
  if (!child) return child.error();
  std::string text;
  while (!deadline.passed() && platform::read_report(*child, deadline.left_ns(), &text)) {
  }
  child->report.reset();
  const bool ended = platform::reap(child->pid, kDescriberEndsNs);
  if (text.starts_with(kDescribed) && ended) return text.substr(std::strlen(kDescribed));
  const std::size_t line_end = text.find('\n');
  if (!ended) return Error{Status::ERROR_TIMEOUT, server + " is too slow to read " + config};
  if (line_end == std::string::npos)
    return Error{Status::ERROR_SERVER, server + " --describe ended without an answer"};
  return Error{static_cast<Status>(std::atoi(text.c_str())), text.substr(line_end + 1)};
}

Result<std::string> describe(const char* config) {
  const Result<std::string> server = find_server();
  if (server) return answer_of(*server, config);
  if (is_switched_off()) return std::string();
  return server.error();
}

Status fill_description(const char* config, char** text) {
  if (!config || !text)
    return fail(Status::ERROR_ARGUMENT, "leat_describe: the config path or the text is NULL");
  const Result<std::string> answer = describe(config);
  if (!answer) return fail(answer.error().status, "leat_describe: " + answer.error().message);
  *text = strdup(answer->c_str());
  return *text ? Status::OK : fail(Status::ERROR_SYSTEM, "leat_describe: out of memory");
}

}  // namespace
}  // namespace leat::client

extern "C" LEAT_API leat_status leat_describe(const char* config, char** text) {
  if (text) *text = nullptr;
  try {
    return static_cast<leat_status>(leat::client::fill_description(config, text));
  } catch (const std::exception& e) {
    return static_cast<leat_status>(
        leat::client::fail(leat::Status::ERROR_SYSTEM, std::string("leat_describe: ") + e.what()));
  }
}
