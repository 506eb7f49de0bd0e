// SPDX-License-Identifier: Apache-2.0
#include "lib/model/tag_positions.hpp"

namespace leat::model {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

class TagFinder {
 public:
  explicit TagFinder(std::string_view text) : text_(text) {}

  std::vector<TagPosition> run() {
    while (skip_until("<")) {
      if (looking_at("<!--")) {
        skip_past("-->");
      } else if (looking_at("<![CDATA[")) {
        skip_past("]]>");
      } else if (looking_at("<?")) {
        skip_past("?>");
      } else if (looking_at("<!") || looking_at("</")) {
        skip_past(">");
      } else {
        start_tag();
      }
    }
    return std::move(tags_);
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  bool looking_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void step() {
    const auto byte = static_cast<unsigned char>(text_[at_++]);
    if (byte == '\n') {
      ++line_;
      column_ = 1;
    } else if ((byte & 0xC0) != 0x80) {  // not a continuation byte of UTF-8
      ++column_;
    }
  }

  bool skip_until(std::string_view what) {
    const std::size_t found = text_.find(what, at_);
    const std::size_t end = found == std::string_view::npos ? text_.size() : found;
    while (at_ < end) step();
    return !at_end();
  }

  void skip_past(std::string_view what) {
    if (!skip_until(what)) return;
    for (std::size_t i = 0; i < what.size(); ++i) step();
  }

  void skip_space() {
    while (!at_end() && kSpace.find(text_[at_]) != std::string_view::npos) step();
  }

  NamePosition name() {
    NamePosition found{"", line_, column_};
    while (!at_end() &&
           std::string_view(" \t\r\n=/><\"'").find(text_[at_]) == std::string_view::npos) {
      found.name += text_[at_];
      step();
    }
    return found;
  }

  void start_tag() {
    const int line = line_, column = column_;
    step();
    tags_.push_back({{name().name, line, column}, {}});
    for (skip_space(); !at_end() && text_[at_] != '>' && text_[at_] != '<'; skip_space()) {
      attribute();
    }
  }

  void attribute() {
    const NamePosition found = name();
    if (found.name.empty()) return step();  // '/' of an empty tag, or no XML
    tags_.back().attributes.push_back(found);
    skip_space();
    if (at_end() || text_[at_] != '=') return;
    step();
    skip_space();
    if (at_end() || (text_[at_] != '"' && text_[at_] != '\'')) return;
    const std::string_view quote = text_.substr(at_, 1);
    step();
    skip_past(quote);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  std::vector<TagPosition> tags_;
};

}  // namespace

std::vector<TagPosition> find_tags(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte order mark
  return TagFinder(text).run();
}

}  // namespace leat::model
