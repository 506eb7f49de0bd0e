// SPDX-License-Identifier: Apache-2.0
#include "client-api/connect/last_error.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>

#include "client-api/api/leat.h"

namespace leat::client {
namespace {

#define LEAT_STATUS(name, value, meaning) \
  static_assert(LEAT_##name == (value), "leat.h differs from lib/base/status.def");
#include "lib/base/status.def"
#undef LEAT_STATUS

constexpr std::size_t kMostPrinted = 256;

thread_local char message[4096] = "";

std::atomic<int> message_rank{-1};
std::mutex printed_mutex;
std::array<std::size_t, kMostPrinted> printed;
std::size_t printed_count = 0;

void store(const std::string& text) noexcept {
  std::snprintf(message, sizeof message, "%s", text.c_str());
}

void print(const std::string& text) noexcept {
  const int rank = message_rank;
  if (rank >= 0) {
    std::fprintf(stderr, "leat: rank %d: %s\n", rank, text.c_str());
  } else {
    std::fprintf(stderr, "leat: %s\n", text.c_str());
  }
}

}  // namespace

void store_error(const std::string& text) noexcept { store(text); }

std::uint32_t number_of_kind(Status status, const std::string& subject, bool* is_new) noexcept {
  const std::size_t key =
      std::hash<std::string>{}(subject)*31 + static_cast<std::size_t>(static_cast<int>(status));
  *is_new = false;
  const std::lock_guard<std::mutex> lock(printed_mutex);
  for (std::size_t i = 0; i < printed_count; ++i) {
    if (printed[i] == key) return static_cast<std::uint32_t>(i + 1);
  }
  if (printed_count == kMostPrinted) return 0;
  printed[printed_count++] = key;
  *is_new = true;
  return static_cast<std::uint32_t>(printed_count);
}

Status fail(Status status, const std::string& text, const std::string& subject) noexcept {
  bool is_new = false;
  (void)number_of_kind(status, subject, &is_new);
  return fail_quietly(status, text, is_new);
}

Status fail_quietly(Status status, const std::string& text, bool with_print) noexcept {
  store(text);
  if (with_print) print(text);
  return status;
}

Status fail_without_memory() noexcept {
  static std::atomic<bool> said{false};
  // Of these sizes texts take nothing from the heap.
  return fail_quietly(Status::ERROR_SYSTEM, "out of memory", !said.exchange(true));
}

void tell(const std::string& text) noexcept { print(text); }

const char* last_error() noexcept { return message; }

void set_message_rank(int rank) noexcept { message_rank = rank; }

void start_anew_in_child() noexcept {
  new (&printed_mutex) std::mutex;
  printed_count = 0;
}

void forget_printed() noexcept {
  const std::lock_guard<std::mutex> lock(printed_mutex);
  printed_count = 0;
}

}  // namespace leat::client

extern "C" {

LEAT_API const char* leat_last_error(void) { return leat::client::last_error(); }

LEAT_API const char* leat_status_name(leat_status status) {
  switch (static_cast<int>(status)) {
#define LEAT_STATUS(name, value, meaning) \
  case value:                             \
    return "LEAT_" #name;
#include "lib/base/status.def"
#undef LEAT_STATUS
  }
  return "not a leat_status";
}

}  // extern "C"
