// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/hello.hpp"

#include <charconv>

namespace leat::comm {
namespace {

// Another one when servers of before would misunderstand those of now.
constexpr std::string_view kHelloMark = "leat-servers-1 ";

bool take_rank(std::string_view* text, Rank* rank) {
  const char* const end = text->data() + text->size();
  const auto [next, error] = std::from_chars(text->data(), end, *rank);
  if (error != std::errc{} || next == end || *next != ' ' || *rank < 0) return false;
  text->remove_prefix(static_cast<std::size_t>(next - text->data()) + 1);
  return true;
}

}  // namespace

std::string hello_text(const Hello& hello) {
  return std::string(kHelloMark) + std::to_string(hello.from) + ' ' + std::to_string(hello.to) +
         ' ' + std::to_string(hello.size) + ' ' + hello.run;
}

std::optional<Hello> hello_in(std::string_view text) {
  if (!text.starts_with(kHelloMark)) return std::nullopt;
  text.remove_prefix(kHelloMark.size());
  Hello hello;
  if (!take_rank(&text, &hello.from) || !take_rank(&text, &hello.to) ||
      !take_rank(&text, &hello.size))
    return std::nullopt;
  hello.run = text;
  return hello;
}

std::string why_no_peer(const std::optional<Hello>& theirs, const Hello& own) {
  if (!theirs) return "it is of another version of Leat";
  if (theirs->size != own.size || theirs->run != own.run) return "it is of another run";
  const bool is_a_peer = theirs->from < own.size && theirs->from != own.from;
  if (theirs->to != own.from || !is_a_peer || (own.to >= 0 && theirs->from != own.to))
    return "it is server " + std::to_string(theirs->from) + " and means server " +
           std::to_string(theirs->to) + ", and this is server " + std::to_string(own.from) +
           (own.to >= 0 ? ", which means server " + std::to_string(own.to) : "");
  return "";
}

}  // namespace leat::comm
