// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/fates.hpp"

namespace leat::server {
namespace {

constexpr const char* kAnother = "another reason; see the server's log";

}  // namespace

std::string without_numbers(std::string_view text) {
  std::string shape;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit || shape.empty() || shape.back() != '#') shape += is_digit ? '#' : c;
  }
  return shape;
}

Reasons::Reasons() : texts_{""} {}

std::uint32_t Reasons::number(std::string_view text) {
  if (text.empty()) return kNone;
  const std::string shape = without_numbers(text);
  if (const auto known = numbers_.find(shape); known != numbers_.end()) return known->second;
  if (texts_.size() >= kMost && text != kAnother) return number(kAnother);
  texts_.emplace_back(text);
  return numbers_[shape] = static_cast<std::uint32_t>(texts_.size() - 1);
}

const char* name_of(Fate::Kind kind) noexcept {
  switch (kind) {
    case Fate::Kind::written:
      return "written";
    case Fate::Kind::stored:
      return "stored";
    case Fate::Kind::failed:
      return "failed";
    case Fate::Kind::skipped:
      return "skipped";
    case Fate::Kind::dropped:
      return "dropped";
    case Fate::Kind::not_written:
      return "not written";
  }
  return "";
}

std::uint32_t Fates::number(const Fate& fate) {
  if (const auto known = numbers_.find(fate); known != numbers_.end()) return known->second;
  fates_.push_back(fate);
  return numbers_[fate] = static_cast<std::uint32_t>(fates_.size() - 1);
}

}  // namespace leat::server
