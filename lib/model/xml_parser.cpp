// SPDX-License-Identifier: Apache-2.0
#include "lib/model/xml_parser.hpp"

#include <algorithm>
#include <utility>
#include <xercesc/framework/MemBufInputSource.hpp>
#include <xercesc/parsers/SAX2XMLReaderImpl.hpp>
#include <xercesc/sax/Locator.hpp>
#include <xercesc/sax2/Attributes.hpp>
#include <xercesc/sax2/DefaultHandler.hpp>
#include <xercesc/util/SecurityManager.hpp>
#include <xercesc/util/XMLUni.hpp>

#include "lib/model/tag_positions.hpp"
#include "lib/model/text_encoding.hpp"
#include "lib/model/xerces_support.hpp"
#include "lib/model/xml_errors.hpp"

namespace leat::model {
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
