// SPDX-License-Identifier: Apache-2.0
// Text to tree, for text that may be anybody's, and what is wrong with it in plain words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include <xercesc/util/XMLString.hpp>
#include <xercesc/util/XercesDefs.hpp>

#include "lib/model/diagnostics.hpp"
#include "lib/model/xml/tree.hpp"

namespace leat::model {

// The little that every user of Xerces-C in this room needs. Not for other rooms.

/// Initialises Xerces-C once per process and leaves it so; must come before anything else of
/// Xerces-C.
void ensure_xerces();

/// UTF-8 of a Xerces-C string; "" for null.
std::string to_utf8(const XMLCh* text);

/// A Xerces-C string of UTF-8, for the time of a call.
std::basic_string<XMLCh> to_xerces(const std::string& utf8);

// Where a file stops being text: Xerces-C only says that it does.
struct BadByte {
  std::string problem;  ///< says what to do
  int line = 0;
  int column = 0;  ///< in characters
};

/// The first zero byte, or the first one that is no UTF-8 unless the XML declaration names another
/// encoding. Nothing for text of UTF-16, which begins with its byte order mark.
std::optional<BadByte> first_bad_byte(std::string_view text);

// Where the start tags and attributes of a text stand. Xerces-C knows only the end of a start tag,
// which may be lines below the attribute that a message is about.
struct NamePosition {
  std::string name;
  int line = 0;
  int column = 0;  ///< in characters, not bytes
};

struct TagPosition {
  NamePosition tag;  ///< position of the '<'
  std::vector<NamePosition> attributes;
};

/// The start tags of `text` in their order. Exact for well-formed XML without a DOCTYPE in UTF-8 or
/// another encoding that contains ASCII; for anything else some list, to be trusted only where the
/// names fit.
std::vector<TagPosition> find_tags(std::string_view text);

// What Xerces-C says of malformed XML, in words for people who do not write XML for a living.
struct OpenTag {
  std::string name;  ///< of the innermost element that is open; "" when there is none
  int line = 0;
};

/// `code` is one of xercesc::XMLErrs::Codes, `text` the words of Xerces-C for it.
std::string explain_malformed(unsigned code, const std::string& text, const OpenTag& open);

/// The same for the exceptions of Xerces-C that end the reading: `code` is one of
/// xercesc::XMLExcepts::Codes; `unfinished` is a tag that begins and does not end, if there is one.
std::string explain_unreadable(unsigned code, const OpenTag& unfinished);

// Text to tree, for text that may be anybody's: no DOCTYPE, so no entities and nothing fetched;
// bounded depth.

/// Deeper than any group of groups; the steps after this one recurse.
inline constexpr std::size_t kMaxXmlDepth = 64;

/// The root element of `text`, or nothing and an error. Names are not checked.
std::optional<XmlElement> parse_xml(const std::string& text, const std::string& file,
                                    DiagnosticList& out);

}  // namespace leat::model
