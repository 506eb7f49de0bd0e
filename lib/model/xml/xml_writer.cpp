// SPDX-License-Identifier: Apache-2.0
#include "lib/model/xml/xml_writer.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace leat::model {
namespace {

constexpr std::size_t kMostColumns = 100;

std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\n':
        text += "&#10;";
        break;
      case '\t':
        text += "&#9;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

using Place = std::pair<int, int>;
constexpr Place kEnd{std::numeric_limits<int>::max(), 0};

Place place_of(const SourceLocation& where) { return {where.line, where.column}; }

void collect(const XmlElement& element, std::vector<Place>& places) {
  places.push_back(place_of(element.where));
  for (const XmlElement& child : element.children) collect(child, places);
}

class XmlWriter {
 public:
  XmlWriter(const XmlElement& root, const std::vector<XmlComment>& comments) {
    std::vector<Place> places;
    collect(root, places);
    std::sort(places.begin(), places.end());
    for (const XmlComment& each : comments) {
      const auto next = std::lower_bound(places.begin(), places.end(), place_of(each.where));
      comments_[next == places.end() ? kEnd : *next].push_back(each.text);
    }
  }

  void element(const XmlElement& element, std::size_t level) {
    say(place_of(element.where), level);
    tag(element, level);
    if (element.children.empty()) {
      text_ += "/>\n";
      return;
    }
    text_ += ">\n";
    for (const XmlElement& child : element.children) this->element(child, level + 1);
    if (level == 0) say(kEnd, 1);
    text_ += std::string(2 * level, ' ') + "</" + element.name + ">\n";
  }

  std::string take() { return std::move(text_); }

 private:
  void tag(const XmlElement& element, std::size_t level) {
    std::string line = std::string(2 * level, ' ') + "<" + element.name;
    const std::size_t indent = line.size() + 1;
    for (const XmlAttribute& each : element.attributes) {
      const std::string next = each.name + "=\"" + escaped(each.value) + "\"";
      const bool first = line.size() < indent;
      if (!first && line.size() + 1 + next.size() + 2 > kMostColumns) {
        text_ += line + "\n";
        line = std::string(indent - 1, ' ');
      }
      line += " " + next;
    }
    text_ += line;
  }

  // The comments in front of what stands there, each once.
  void say(const Place& place, std::size_t level) {
    const auto found = comments_.find(place);
    if (found == comments_.end()) return;
    for (const std::string& text : found->second) comment(text, level);
    comments_.erase(found);
  }

  // Words in lines that are not too long; "--" cannot stand in a comment.
  void comment(std::string text, std::size_t level) {
    for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos;)
      text.replace(at, 2, "- -");
    if (text.ends_with('-')) text += ' ';
    const std::string margin(2 * level + 5, ' ');
    std::string line = std::string(2 * level, ' ') + "<!--";
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t blank = std::min(text.find(' ', begin), text.size());
      const std::string word = text.substr(begin, blank - begin);
      if (line.size() + word.size() + 5 > kMostColumns && line.size() > margin.size()) {
        text_ += line + "\n";
        line = margin.substr(1);
      }
      line += " " + word;
      begin = blank + 1;
    }
    text_ += line + " -->\n";
  }

  std::map<Place, std::vector<std::string>> comments_;  ///< that are still to be said
  std::string text_;
};

}  // namespace

std::string xml_text(const XmlElement& root, const std::vector<XmlComment>& comments) {
  XmlWriter writer(root, comments);
  writer.element(root, 0);
  return writer.take();
}

}  // namespace leat::model
