// SPDX-License-Identifier: Apache-2.0
#include "client-api/executor.hpp"

#include <mutex>

#include "client-api/last_error.hpp"
#include "client-api/leat_executor.h"
#include "lib/base/status.hpp"

namespace leat::client {
namespace {

std::mutex executor_mutex;  // constant: constructors of other static objects may come first
leat_server_pieces executor_now{};

Status set_executor(const leat_executor* executor) {
  leat_server_pieces now{};
  if (executor) {
    if (executor->size < sizeof(leat_executor) || !executor->start || !executor->run)
      return fail(
          Status::ERROR_ARGUMENT,
          "leat_set_executor: the table has no start or run, or is smaller than this one's");
    now = {executor->context, executor->start, executor->run};
  }
  const std::lock_guard<std::mutex> lock(executor_mutex);
  executor_now = now;
  return Status::OK;
}

}  // namespace

leat_server_pieces chosen_executor() noexcept {
  const std::lock_guard<std::mutex> lock(executor_mutex);
  return executor_now;
}

}  // namespace leat::client

extern "C" LEAT_API leat_status leat_set_executor(const leat_executor* executor) {
  return static_cast<leat_status>(leat::client::set_executor(executor));
}
