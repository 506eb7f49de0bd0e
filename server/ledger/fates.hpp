// SPDX-License-Identifier: Apache-2.0
// What can become of something written, each kept once and known by a number.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace leat::server {

/// "no room for #", of texts that differ in numbers only.
std::string without_numbers(std::string_view text);

/// Reasons that differ in numbers only ("iteration 17: no room for 20 bytes") are one; the first
/// text stands for it.
class Reasons {
 public:
  static constexpr std::uint32_t kNone = 0;
  /// All further ones are "another reason": a client that makes them up fills no memory.
  static constexpr std::size_t kMost = 1000;

  Reasons();
  std::uint32_t number(std::string_view text);
  const std::string& operator[](std::uint32_t number) const { return texts_[number]; }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // by text without its numbers
  std::vector<std::string> texts_;
};

/// One of the things that can be said of a write; it is `written`, and `stored`, `failed` or
/// `skipped` for each store that wants it.
struct Fate {
  enum class Kind : std::uint32_t {
    written,     ///< it came
    stored,      ///< the store has it
    failed,      ///< the store wants it and does not have it
    skipped,     ///< the store has left it out, as the XML allows
    dropped,     ///< as the XML allows
    not_written  ///< it never came from the rank
  };
  Kind kind = Kind::written;
  std::uint32_t store = 0;  ///< of stored, failed and skipped
  std::uint32_t why = Reasons::kNone;
  auto operator<=>(const Fate&) const = default;

  bool has_store() const noexcept {
    return kind == Kind::stored || kind == Kind::failed || kind == Kind::skipped;
  }
  bool is_loss() const noexcept { return kind == Kind::failed || kind == Kind::not_written; }
};
const char* name_of(Fate::Kind kind) noexcept;

class Fates {
 public:
  /// A known one costs no allocation.
  std::uint32_t number(const Fate& fate);
  const Fate& operator[](std::uint32_t number) const { return fates_[number]; }

 private:
  std::map<Fate, std::uint32_t> numbers_;
  std::vector<Fate> fates_;
};

}  // namespace leat::server
