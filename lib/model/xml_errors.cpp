// SPDX-License-Identifier: Apache-2.0
#include "lib/model/xml_errors.hpp"

#include <xercesc/framework/XMLErrorCodes.hpp>
#include <xercesc/util/XMLExceptMsgs.hpp>

namespace leat::model {
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

}  // namespace leat::model
