// SPDX-License-Identifier: Apache-2.0
#include "lib/model/text_encoding.hpp"

#include <cstdio>

namespace leat::model {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Bytes of the character that begins at `at`, 0 when it is no UTF-8. Over-long forms and surrogates
// are left to Xerces-C.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const unsigned first = byte_at(text, at);
  const std::size_t bytes = first < 0x80                    ? 1
                            : first >= 0xC2 && first < 0xE0 ? 2
                            : (first & 0xF0) == 0xE0        ? 3
                            : first >= 0xF0 && first < 0xF5 ? 4
                                                            : 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, at + i) & 0xC0) != 0x80) return 0;
  }
  return bytes;
}

bool begins_with_mark_of_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

// Only what stands in the first line counts, as in <?xml version="1.0" encoding="ISO-8859-1"?>.
bool names_other_encoding(std::string_view text) {
  const std::string_view declaration = text.substr(0, text.find('>'));
  return declaration.starts_with("<?xml") &&
         declaration.find("encoding") != std::string_view::npos &&
         declaration.find("UTF-8") == std::string_view::npos &&
         declaration.find("utf-8") == std::string_view::npos;
}

std::string problem_of(unsigned char byte) {
  if (byte == 0) return "a zero byte: this is no text file";
  char hex[8];
  std::snprintf(hex, sizeof hex, "0x%02X", byte);
  return std::string("the byte ") + hex +
         " is no UTF-8: save the file as UTF-8, or name its encoding in the first line, like "
         "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>";
}

}  // namespace

std::optional<BadByte> first_bad_byte(std::string_view text) {
  if (begins_with_mark_of_utf16(text)) return {};
  const bool any_byte = names_other_encoding(text);
  int line = 1, column = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = any_byte ? 1 : character_bytes(text, at);
    if (bytes == 0 || text[at] == 0) return BadByte{problem_of(byte_at(text, at)), line, column};
    const bool ends_line = text[at] == '\n';
    line += ends_line;
    column = ends_line ? 1 : column + 1;
    at += bytes;
  }
  return {};
}

}  // namespace leat::model
