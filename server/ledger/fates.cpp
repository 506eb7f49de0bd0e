// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/fates.hpp"

#include <cctype>

namespace leat::server {
namespace {

constexpr const char* kAnother = "another reason; see the server's log";

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

void shape_of(std::string_view text, std::string* shape) {
  shape->clear();
  for (const char c : text) {
    if (!is_digit(c)) {
      *shape += c;
    } else if (shape->empty() || shape->back() != '#') {
      *shape += '#';
    }
  }
}

}  // namespace

Reasons::Reasons() : texts_{""} {}

std::uint32_t Reasons::number(std::string_view text) {
  if (text.empty()) return kNone;
  shape_of(text, &shape_);
  if (const auto known = numbers_.find(shape_); known != numbers_.end()) return known->second;
  if (texts_.size() >= kMost && text != kAnother) return number(kAnother);
  texts_.emplace_back(text);
  return numbers_[shape_] = static_cast<std::uint32_t>(texts_.size() - 1);
}

const char* name_of(Fate::Kind kind) noexcept {
  switch (kind) {
    case Fate::Kind::written:
      return "written";
    case Fate::Kind::stored:
      return "stored";
    case Fate::Kind::failed:
      return "failed";
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
