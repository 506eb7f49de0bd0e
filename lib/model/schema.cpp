// SPDX-License-Identifier: Apache-2.0
#include "lib/model/schema.hpp"

#include <stdexcept>
#include <xercesc/framework/MemBufInputSource.hpp>
#include <xercesc/framework/XMLGrammarPoolImpl.hpp>
#include <xercesc/framework/psvi/XSAnnotation.hpp>
#include <xercesc/framework/psvi/XSAttributeDeclaration.hpp>
#include <xercesc/framework/psvi/XSAttributeUse.hpp>
#include <xercesc/framework/psvi/XSComplexTypeDefinition.hpp>
#include <xercesc/framework/psvi/XSElementDeclaration.hpp>
#include <xercesc/framework/psvi/XSModel.hpp>
#include <xercesc/framework/psvi/XSModelGroup.hpp>
#include <xercesc/framework/psvi/XSParticle.hpp>
#include <xercesc/framework/psvi/XSSimpleTypeDefinition.hpp>
#include <xercesc/parsers/SAX2XMLReaderImpl.hpp>
#include <xercesc/sax/SAXParseException.hpp>
#include <xercesc/sax2/DefaultHandler.hpp>
#include <xercesc/validators/datatype/DatatypeValidator.hpp>
#include <xercesc/validators/datatype/InvalidDatatypeValueException.hpp>

#include "lib/model/schema_text.hpp"
#include "lib/model/xerces_support.hpp"

namespace leat::model {
namespace xe = xercesc;

struct Schema::Compiled {
  xe::XMLGrammarPoolImpl pool{xe::XMLPlatformUtils::fgMemoryManager};
  std::vector<xe::DatatypeValidator*> types;  ///< owned by the pool
};

namespace {

struct ThrowFaults : xe::DefaultHandler {
  void error(const xe::SAXParseException& e) override {
    throw std::logic_error("leat.xsd:" + std::to_string(e.getLineNumber()) + ": " +
                           to_utf8(e.getMessage()));
  }
  void fatalError(const xe::SAXParseException& e) override { error(e); }
};

void compile(std::string_view xsd, xe::XMLGrammarPoolImpl& pool) {
  ThrowFaults faults;
  xe::SAX2XMLReaderImpl parser(xe::XMLPlatformUtils::fgMemoryManager, &pool);
  parser.setErrorHandler(&faults);
  const xe::MemBufInputSource source(reinterpret_cast<const XMLByte*>(xsd.data()), xsd.size(),
                                     "leat.xsd");
  if (!parser.loadGrammar(source, xe::Grammar::SchemaGrammarType, true)) {
    throw std::logic_error("leat.xsd is no schema");
  }
}

// The text of <documentation>: Xerces-C keeps annotations as text of XML.
std::string documentation(xe::XSAnnotationList* annotations) {
  if (annotations == nullptr || annotations->size() == 0) return "";
  const std::string xml = to_utf8(annotations->elementAt(0)->getAnnotationString());
  const std::size_t tag = xml.find("documentation>");
  if (tag == std::string::npos) return "";
  const std::size_t begin = xml.find('>', tag) + 1;
  return xml.substr(begin, xml.find('<', begin) - begin);
}

std::vector<std::string> enumeration(xe::XSSimpleTypeDefinition& type) {
  std::vector<std::string> words;
  const xe::StringList* list = type.getLexicalEnumeration();
  for (XMLSize_t i = 0; list && i < list->size(); ++i) words.push_back(to_utf8(list->elementAt(i)));
  return words;
}

AttributeRule attribute_rule(xe::XSAttributeUse& use, std::vector<xe::DatatypeValidator*>& types) {
  xe::XSSimpleTypeDefinition* type = use.getAttrDeclaration()->getTypeDefinition();
  AttributeRule rule;
  rule.name = to_utf8(use.getAttrDeclaration()->getName());
  rule.required = use.getRequired();
  rule.default_value = to_utf8(use.getConstraintValue());
  rule.expected = documentation(type->getAnnotations());
  rule.choices = enumeration(*type);
  rule.type = types.size();
  types.push_back(type->getDatatypeValidator());
  return rule;
}

void add_children(xe::XSParticle* particle, std::vector<std::string>& names) {
  if (particle == nullptr) return;
  if (particle->getTermType() == xe::XSParticle::TERM_ELEMENT) {
    names.push_back(to_utf8(particle->getElementTerm()->getName()));
  } else if (particle->getTermType() == xe::XSParticle::TERM_MODELGROUP) {
    xe::XSParticleList* inside = particle->getModelGroupTerm()->getParticles();
    for (XMLSize_t i = 0; i < inside->size(); ++i) add_children(inside->elementAt(i), names);
  }
}

ElementRule element_rule(xe::XSElementDeclaration& element,
                         std::vector<xe::DatatypeValidator*>& types) {
  auto& type = static_cast<xe::XSComplexTypeDefinition&>(*element.getTypeDefinition());
  ElementRule rule;
  rule.name = to_utf8(element.getName());
  xe::XSAttributeUseList* uses = type.getAttributeUses();
  for (XMLSize_t i = 0; uses && i < uses->size(); ++i) {
    rule.attributes.push_back(attribute_rule(*uses->elementAt(i), types));
  }
  add_children(type.getParticle(), rule.children);
  return rule;
}

template <class Rules>
auto find_rule(const Rules& rules, std::string_view name) -> decltype(rules.data()) {
  for (const auto& rule : rules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace

const AttributeRule* ElementRule::find(std::string_view attribute) const {
  return find_rule(attributes, attribute);
}

Schema::Schema() : Schema(schema_text()) {}

Schema::Schema(std::string_view xsd) {
  ensure_xerces();
  compiled_ = std::make_unique<Compiled>();
  compile(xsd, compiled_->pool);
  bool changed = false;
  xe::XSModel* model = compiled_->pool.getXSModel(changed);
  auto* elements = model->getComponents(xe::XSConstants::ELEMENT_DECLARATION);
  for (XMLSize_t i = 0; i < elements->getLength(); ++i) {
    auto& element = static_cast<xe::XSElementDeclaration&>(*elements->item(i));
    elements_.push_back(element_rule(element, compiled_->types));
  }
}

Schema::~Schema() = default;

const ElementRule* Schema::find(std::string_view element) const {
  return find_rule(elements_, element);
}

bool Schema::accepts(const AttributeRule& attribute, const std::string& value) const {
  try {
    compiled_->types.at(attribute.type)->validate(to_xerces(value).c_str());
    return true;
  } catch (const xe::XMLException&) {
    return false;
  }
}

}  // namespace leat::model
