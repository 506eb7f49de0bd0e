// SPDX-License-Identifier: Apache-2.0
#include "lib/model/xml/parser.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <xercesc/framework/MemBufInputSource.hpp>
#include <xercesc/framework/XMLErrorCodes.hpp>
#include <xercesc/parsers/SAX2XMLReaderImpl.hpp>
#include <xercesc/sax/Locator.hpp>
#include <xercesc/sax2/Attributes.hpp>
#include <xercesc/sax2/DefaultHandler.hpp>
#include <xercesc/util/PlatformUtils.hpp>
#include <xercesc/util/SecurityManager.hpp>
#include <xercesc/util/TransService.hpp>
#include <xercesc/util/XMLExceptMsgs.hpp>
#include <xercesc/util/XMLUni.hpp>

namespace leat::model {
namespace xe = xercesc;

void ensure_xerces() {
  static const bool once = [] {
    xe::XMLPlatformUtils::Initialize();
    return true;
  }();
  static_cast<void>(once);
}

std::string to_utf8(const XMLCh* text) {
  if (text == nullptr) return "";
  const xe::TranscodeToStr utf8(text, "UTF-8");
  return std::string(reinterpret_cast<const char*>(utf8.str()), utf8.length());
}

std::basic_string<XMLCh> to_xerces(const std::string& utf8) {
  const xe::TranscodeFromStr text(reinterpret_cast<const XMLByte*>(utf8.data()), utf8.size(),
                                  "UTF-8");
  return std::basic_string<XMLCh>(text.str(), text.length());
}

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

namespace {

using xercesc::XMLErrs;

std::string not_closed(const OpenTag& open) {
  if (open.name.empty()) return "the file ends too early";
  return "<" + open.name + "> of line " + std::to_string(open.line) + " is not closed: </" +
         open.name + "> is missing";
}

// "" for what has no words of ours.
std::string words(unsigned code, const OpenTag& open) {
  switch (code) {
    case XMLErrs::ExpectedEndOfTagX:
    case XMLErrs::EndedWithTagsOnStack:
    case XMLErrs::UnexpectedEOE:
    case XMLErrs::UnterminatedEndTag:
      return not_closed(open);
    case XMLErrs::MoreEndThanStartTags:
      return "an end tag without a start tag";
    case XMLErrs::ExpectedEqSign:
    case XMLErrs::ExpectedAttrValue:
    case XMLErrs::ExpectedQuotedString:
      return "an attribute needs a value in quotes, like name=\"value\"";
    case XMLErrs::ExpectedAttrName:
    case XMLErrs::ExpectedWhitespace:
    case XMLErrs::UnterminatedStartTag:
      return "the tag is not closed: \">\" or \"/>\" is missing, or a quote";
    case XMLErrs::BracketInAttrValue:
      return "\"<\" inside a value: the closing quote is missing before it, or it must be written "
             "\"&lt;\"";
    case XMLErrs::ExpectedEntityRefName:
    case XMLErrs::UnterminatedEntityRef:
    case XMLErrs::EntityNotFound:
    case XMLErrs::InvalidEntityRefName:
      return "a \"&\" that is only itself must be written \"&amp;\"";
    case XMLErrs::InvalidCharacter:
    case XMLErrs::InvalidCharacterInAttrValue:
    case XMLErrs::InvalidCharacterRef:
      return "a character that XML does not allow here";
    case XMLErrs::ExpectedElementName:
    case XMLErrs::InvalidElementName:
      return "a name must follow \"<\"; a \"<\" that is only itself must be written \"&lt;\"";
    case XMLErrs::InvalidDocumentStructure:
    case XMLErrs::EmptyMainEntity:
      return "this is no XML: a first element like <simulation name=\"...\"> is missing";
    case XMLErrs::NotValidAfterContent:
    case XMLErrs::ExpectedCommentOrPI:
      return "something stands after the end of the first element; a file has one of them";
    case XMLErrs::UnterminatedComment:
      return "the comment is not closed: \"-->\" is missing";
    case XMLErrs::IllegalSequenceInComment:
      return "\"--\" inside a comment; XML allows it only at the end";
    case XMLErrs::BadXMLEncoding:
    case XMLErrs::ContradictoryEncoding:
    case XMLErrs::XMLException_Fatal:
      return "the text does not fit its encoding, which is UTF-8 unless the first line says "
             "another";
    default:
      return "";
  }
}

}  // namespace

std::string explain_unreadable(unsigned code, const OpenTag& unfinished) {
  if (code == xercesc::XMLExcepts::Gen_UnexpectedEOF) {
    if (unfinished.name.empty()) return "the file ends inside of a tag";
    return "the file ends inside of the tag <" + unfinished.name + "> of line " +
           std::to_string(unfinished.line) + ": \">\", \"/>\" or a quote is missing";
  }
  return "the text does not fit its encoding, which is UTF-8 unless the first line says another";
}

std::string explain_malformed(unsigned code, const std::string& text, const OpenTag& open) {
  if (code == XMLErrs::AttrAlreadyUsedInSTag) return "an attribute stands twice: " + text;
  const std::string own = words(code, open);
  return own.empty() ? "malformed XML: " + text : own;
}

namespace xe = xercesc;
namespace {

std::string without_space_around(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

class TreeBuilder : public xe::DefaultHandler {
 public:
  TreeBuilder(const std::string& text, std::string file, DiagnosticList& out)
      : text_(text), tags_(find_tags(text)), file_(std::move(file)), out_(out) {}

  void setDocumentLocator(const xe::Locator* const locator) override { locator_ = locator; }

  void startDTD(const XMLCh*, const XMLCh*, const XMLCh*) override {
    stop(here(), "a DOCTYPE is not allowed: Leat brings its own schema and expands no entities");
  }

  void startElement(const XMLCh*, const XMLCh*, const XMLCh* qname,
                    const xe::Attributes& attributes) override {
    XmlElement element;
    element.name = to_utf8(qname);
    element.where = here();
    const TagPosition* tag = next_tag(element.name);
    if (tag) element.where = at(tag->tag);
    if (open_.size() == kMaxXmlDepth) stop(element.where, "elements are nested more than 64 deep");
    for (XMLSize_t i = 0; i < attributes.getLength(); ++i) {
      const std::string name = to_utf8(attributes.getQName(i));
      const SourceLocation where = tag ? at_attribute(*tag, name) : element.where;
      element.attributes.push_back({name, to_utf8(attributes.getValue(i)), where});
    }
    open_.push_back(std::move(element));
  }

  void endElement(const XMLCh*, const XMLCh*, const XMLCh*) override {
    XmlElement done = std::move(open_.back());
    open_.pop_back();
    done.text = without_space_around(done.text);
    if (open_.empty()) {
      root_ = std::move(done);
    } else {
      open_.back().children.push_back(std::move(done));
    }
  }

  void characters(const XMLCh* const chars, const XMLSize_t) override {
    if (!open_.empty()) open_.back().text += to_utf8(chars);
  }

  /// Says the first of the errors that make the text no XML; the rest follow from it.
  void malformed(const std::string& message, int line, int column) {
    if (!std::exchange(failed_, true)) out_.error({file_, line, column}, message);
  }

  /// An exception of Xerces-C: a byte that is no text is the cause where there is one.
  void unreadable(unsigned code, int line, int column) {
    if (const std::optional<BadByte> bad = first_bad_byte(text_)) {
      return malformed(bad->problem, bad->line, bad->column);
    }
    OpenTag unfinished;
    if (next_tag_ < tags_.size())
      unfinished = {tags_[next_tag_].tag.name, tags_[next_tag_].tag.line};
    malformed(explain_unreadable(code, unfinished), std::max(line, 1), std::max(column, 1));
  }

  OpenTag open() const {
    if (open_.empty()) return {};
    return {open_.back().name, open_.back().where.line};
  }

  std::optional<XmlElement> take() {
    if (!root_) malformed("this is no XML", 1, 1);
    if (failed_) return std::nullopt;
    return std::move(root_);
  }

 private:
  [[noreturn]] void stop(const SourceLocation& where, const std::string& message) {
    out_.error(where, message);
    failed_ = true;
    throw xe::SAXException();
  }

  SourceLocation here() const {
    if (!locator_) return {file_, 0, 0};
    return {file_, static_cast<int>(locator_->getLineNumber()),
            static_cast<int>(locator_->getColumnNumber())};
  }

  SourceLocation at(const NamePosition& name) const { return {file_, name.line, name.column}; }

  SourceLocation at_attribute(const TagPosition& tag, const std::string& name) const {
    for (const NamePosition& attribute : tag.attributes) {
      if (attribute.name == name) return at(attribute);
    }
    return at(tag.tag);
  }

  const TagPosition* next_tag(const std::string& name) {
    if (next_tag_ >= tags_.size() || tags_[next_tag_].tag.name != name) return nullptr;
    return &tags_[next_tag_++];
  }

  const std::string& text_;
  std::vector<TagPosition> tags_;
  std::size_t next_tag_ = 0;
  std::string file_;
  DiagnosticList& out_;
  const xe::Locator* locator_ = nullptr;
  std::vector<XmlElement> open_;
  std::optional<XmlElement> root_;
  bool failed_ = false;
};

// Hands errors on with their code, which the handlers of SAX do not get.
class Parser : public xe::SAX2XMLReaderImpl {
 public:
  explicit Parser(TreeBuilder& builder) : builder_(builder) {
    setFeature(xe::XMLUni::fgSAX2CoreValidation, false);
    setFeature(xe::XMLUni::fgSAX2CoreNameSpaces, false);
    setFeature(xe::XMLUni::fgSAX2CoreNameSpacePrefixes, true);
    setFeature(xe::XMLUni::fgXercesLoadExternalDTD, false);
    setFeature(xe::XMLUni::fgXercesLoadSchema, false);
    setFeature(xe::XMLUni::fgXercesDisableDefaultEntityResolution, true);
    setProperty(xe::XMLUni::fgXercesSecurityManager, &limits_);
    setContentHandler(&builder);
    setLexicalHandler(&builder);
    setErrorHandler(&builder);  // without one Xerces-C calls no error() either
  }

  void error(const unsigned int code, const XMLCh* const domain,
             const xe::XMLErrorReporter::ErrTypes type, const XMLCh* const text, const XMLCh* const,
             const XMLCh* const, const XMLFileLoc line, const XMLFileLoc column) override {
    if (type != xe::XMLErrorReporter::ErrType_Fatal) return;
    const bool is_exception = xe::XMLString::equals(domain, xe::XMLUni::fgExceptDomain);
    const int at_line = static_cast<int>(line), at_column = static_cast<int>(column);
    if (is_exception) return builder_.unreadable(code, at_line, at_column);
    builder_.malformed(explain_malformed(code, to_utf8(text), builder_.open()), at_line, at_column);
  }

 private:
  TreeBuilder& builder_;
  xe::SecurityManager limits_;
};

}  // namespace

std::optional<XmlElement> parse_xml(const std::string& text, const std::string& file,
                                    DiagnosticList& out) {
  ensure_xerces();
  TreeBuilder builder(text, file, out);
  const xe::MemBufInputSource source(reinterpret_cast<const XMLByte*>(text.data()), text.size(),
                                     file.c_str());
  try {
    Parser(builder).parse(source);
  } catch (const xe::SAXException&) {  // the builder has said why
  } catch (const xe::XMLException& e) {
    builder.unreadable(e.getCode(), 1, 1);
  }
  return builder.take();
}

}  // namespace leat::model
