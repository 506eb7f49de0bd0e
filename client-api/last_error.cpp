// SPDX-License-Identifier: Apache-2.0
#include "client-api/last_error.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>

namespace leat::client {
namespace {

constexpr std::size_t kMostPrinted = 64;

thread_local char message[4096] = "";

std::atomic<int> message_rank{-1};
std::mutex printed_mutex;
std::array<std::size_t, kMostPrinted> printed;
std::size_t printed_count = 0;

void keep(const std::string& text) noexcept {
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

bool is_news(Status status, const std::string& subject) noexcept {
  const std::size_t key =
      std::hash<std::string>{}(subject)*31 + static_cast<std::size_t>(static_cast<int>(status));
  const std::lock_guard<std::mutex> lock(printed_mutex);
  for (std::size_t i = 0; i < printed_count; ++i) {
    if (printed[i] == key) return false;
  }
  if (printed_count == kMostPrinted) return false;
  printed[printed_count++] = key;
  return true;
}

}  // namespace

Status fail(Status status, const std::string& text, const std::string& subject) noexcept {
  return fail_quietly(status, text, is_news(status, subject));
}

Status fail_quietly(Status status, const std::string& text, bool with_print) noexcept {
  keep(text);
  if (with_print) print(text);
  return status;
}

void tell(const std::string& text) noexcept { print(text); }

const char* last_error() noexcept { return message; }

void set_message_rank(int rank) noexcept { message_rank = rank; }

void forget_printed() noexcept {
  const std::lock_guard<std::mutex> lock(printed_mutex);
  printed_count = 0;
}

}  // namespace leat::client
