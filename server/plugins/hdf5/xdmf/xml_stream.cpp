// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/xdmf/xml_stream.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace leat::hdf5::xdmf {
std::string escaped(const std::string& text) {
  if (text.find_first_of("&<>\"") == std::string::npos) return text;
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

// "--" must not be in it. Source: XML 1.0, section 2.5, "Comments".
std::string comment_text(const std::string& text) {
  std::string safe = text;
  for (std::size_t at = 0; (at = safe.find("--", at)) != std::string::npos;) safe[at] = '_';
  return "<!-- " + safe + " -->";
}

XmlStream::XmlStream(const std::string& path) : file_(std::fopen(path.c_str(), "we")) {
  if (!file_) fail();
  put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
}

void XmlStream::fail() const {
  throw std::runtime_error(std::string("cannot write it: ") + std::strerror(errno));
}

void XmlStream::put(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) fail();
}

void XmlStream::put_tag(const char* tag, Attributes attributes) {
  std::string text = std::string("<") + tag;
  for (const auto& [name, value] : attributes)
    text += std::string(" ") + name + "=\"" + escaped(value) + "\"";
  put(text);
}

void XmlStream::begin(const char* tag, Attributes attributes) {
  put_tag(tag, attributes);
  put(">");
  open_.push_back(tag);
}

void XmlStream::end() {
  put(std::string("</") + open_.back() + ">");
  open_.pop_back();
}

void XmlStream::empty(const char* tag, Attributes attributes) {
  put_tag(tag, attributes);
  put("/>");
}

void XmlStream::element(const char* tag, Attributes attributes, const std::string& text) {
  begin(tag, attributes);
  put(escaped(text));
  end();
}

void XmlStream::comment(const std::string& text) { put(comment_text(text)); }

void XmlStream::finish() {
  while (!open_.empty()) end();
  break_line();
  if (std::fclose(file_.release()) != 0) fail();
}

std::string number_text(double value) {
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

}  // namespace leat::hdf5::xdmf
