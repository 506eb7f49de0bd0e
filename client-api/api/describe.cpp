// SPDX-License-Identifier: Apache-2.0
// Asks leatd what an XML says, for libraries that must know it before there is a session.

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "client-api/api/leat_build.h"
#include "client-api/connect/last_error.hpp"
#include "client-api/connect/rendezvous.hpp"
#include "client-api/session/session.hpp"
#include "lib/base/status.hpp"

namespace leat::client {
namespace {

Result<std::string> describe(const char* config) {
  if (is_switched_off() && !find_server()) return std::string();
  return ask_description(config);
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
