// SPDX-License-Identifier: Apache-2.0
// What each target defines, libFuzzer or replay.cpp calls, and uses to say that a promise is
// broken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace leat::fuzz {

/// Ends the process, which makes the input a finding, unless the promise holds.
inline void promise(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

/// Takes numbers from the input; zeros when it is used up.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  bool empty() const { return at_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  template <class T>
  T take() {
    T value{};
    const std::size_t bytes = std::min(sizeof value, left());
    std::memcpy(&value, at_, bytes);
    at_ += bytes;
    return value;
  }
  std::uint8_t byte() { return take<std::uint8_t>(); }
  std::uint32_t below(std::uint32_t limit) { return byte() % limit; }
  std::string text(std::size_t most) {
    const std::size_t bytes = std::min(most, left());
    std::string text(reinterpret_cast<const char*>(at_), bytes);
    at_ += bytes;
    return text;
  }
  std::string rest() { return text(left()); }

  /// Mostly numbers at which something changes.
  std::int64_t number() {
    const std::uint8_t kind = byte();
    if (kind < 128) return kind;
    if (kind < 160) return -static_cast<std::int64_t>(kind - 128);
    if (kind < 224) {
      const std::uint64_t power = std::uint64_t{1} << (kind - 160);
      return static_cast<std::int64_t>(power - 1 + below(3));
    }
    return take<std::int64_t>();
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace leat::fuzz
