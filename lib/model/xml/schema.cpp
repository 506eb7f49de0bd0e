// SPDX-License-Identifier: Apache-2.0
#include "lib/model/xml/schema.hpp"

#include <algorithm>
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

#include "lib/base/text.hpp"
#include "lib/model/xml/parser.hpp"

namespace leat::model {
namespace xe = xercesc;

struct Schema::Compiled {
  xe::XMLGrammarPoolImpl pool{xe::XMLPlatformUtils::fgMemoryManager};
  std::vector<xe::DatatypeValidator*> types;  ///< owned by the pool
};

namespace {

// Words that other programs have.
struct Advice {
  const char *attribute, *value, *what;
};

constexpr Advice kAdvices[] = {
    {"compression", "gzip", "gzip is called \"deflate:4\" here"},
    {"compression", "zlib", "zlib is called \"deflate:4\" here"},
    {"compression", "deflate", "say how small, like \"deflate:4\""},
    {"compression", "zstd", "say how small, like \"zstd:3\""},
    {"compression", "blosc", "say by what, and how small, like \"blosc:lz4:5\""},
    {"compression", "zfp", "say how exact, like \"zfp:accuracy=1e-3\""},
    {"compression", "szip", "this filter is not there; take \"deflate:4\" or \"zstd:3\""},
    {"type", "netcdf", "type=\"hdf5\" makes files that netCDF-4 reads"},
    {"type", "netcdf4", "type=\"hdf5\" makes files that netCDF-4 reads"},
    {"type", "nc", "type=\"hdf5\" makes files that netCDF-4 reads"},
    {"type", "h5", "write type=\"hdf5\""},
    {"type", "vtk", "type=\"hdf5\" makes files that ParaView opens"},
    {"type", "vtkhdf", "type=\"hdf5\" makes files that ParaView opens"},
    {"type", "complex(16)",
     "complex(8) has two real(8), which is complex128; real(16) is not there"},
    {"type", "real(16)", "reals have 4 or 8 bytes"},
    {"type", "real64", "write \"real(8)\""},
    {"type", "real(real64)", "write \"real(8)\""},
    {"type", "real(kind=real64)", "write \"real(8)\""},
};

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
  xe::XSSimpleTypeDefinitionList* members = type.getMemberTypes();
  for (XMLSize_t i = 0; members && i < members->size(); ++i)
    for (std::string& each : enumeration(*members->elementAt(i))) words.push_back(std::move(each));
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

namespace {

// Attributes with which editors find the schema; they are no business of the reader.
bool is_for_editors(const std::string& name) {
  return name == "xmlns:xsi" || name.starts_with("xsi:");
}

bool has_child(const ElementRule& rule, const std::string& name) {
  return std::find(rule.children.begin(), rule.children.end(), name) != rule.children.end();
}

// As much of a text as tells which one is meant.
std::string beginning(std::string text) {
  constexpr std::size_t kQuoted = 24;
  text = text.substr(0, text.find_first_of("\r\n"));
  return text.size() > kQuoted ? text.substr(0, text.find(' ', kQuoted / 2)) + "..." : text;
}

class SchemaCheck {
 public:
  SchemaCheck(const Schema& schema, DiagnosticList& out) : schema_(schema), out_(out) {}

  void element(XmlElement& element) {
    const ElementRule& rule = *schema_.find(element.name);
    drop_unknown_attributes(element, rule);
    for (XmlAttribute& each : element.attributes) value(each, *rule.find(each.name), rule);
    for (const AttributeRule& each : rule.attributes) presence(element, each);
    if (!element.text.empty()) {
      out_.error(element.where, "text \"" + beginning(element.text) + "\" inside <" + element.name +
                                    ">; values stand in attributes");
    }
    std::erase_if(element.children, [&](const XmlElement& c) { return is_misplaced(c, rule); });
    for (XmlElement& child : element.children) this->element(child);
  }

 private:
  void drop_unknown_attributes(XmlElement& element, const ElementRule& rule) {
    std::vector<XmlAttribute> kept;
    for (XmlAttribute& each : element.attributes) {
      if (!is_unknown(each, element, rule)) kept.push_back(each);
    }
    element.attributes = std::move(kept);
  }

  // Says so when the attribute is unknown. One that is taken for a slip of the pen stays, under the
  // right name but refused, so that no later step says that it is missing.
  bool is_unknown(XmlAttribute& attribute, const XmlElement& element, const ElementRule& rule) {
    if (is_for_editors(attribute.name)) return true;
    if (rule.find(attribute.name)) return false;
    std::vector<std::string> names;
    for (const AttributeRule& each : rule.attributes) names.push_back(each.name);
    std::string hint =
        names.empty() ? "; it has no attributes" : did_you_mean(attribute.name, names);
    if (has_child(rule, attribute.name)) {
      hint = "; <" + attribute.name + "> is an element: it stands inside of <" + rule.name + ">";
    }
    out_.error(attribute.where,
               "unknown attribute \"" + attribute.name + "\" of <" + rule.name + ">" + hint);
    const std::string meant = nearest_name(attribute.name, names);
    if (meant.empty() || element.find(meant)) return true;
    attribute.name = meant;
    attribute.refused = true;
    return false;
  }

  void value(XmlAttribute& attribute, const AttributeRule& rule, const ElementRule& element) {
    if (attribute.refused || schema_.accepts(rule, attribute.value)) return;
    attribute.refused = true;
    out_.error(attribute.where, rule.name + "=\"" + attribute.value + "\" of <" + element.name +
                                    ">: expected " + rule.expected +
                                    hint_for_value(attribute.value, rule));
  }

  // The nearest of the legal words, else all of them unless what is expected names them already.
  static std::string hint_for_value(const std::string& value, const AttributeRule& rule) {
    for (const Advice& each : kAdvices)
      if (rule.name == each.attribute && is_same_word(value, each.value))
        return std::string("; ") + each.what;
    const std::string nearest = nearest_name(value, rule.choices);
    if (!nearest.empty()) return "; did you mean \"" + nearest + "\"?";
    constexpr std::size_t kMostListed = 18;
    std::string all;
    for (std::size_t i = 0; i < rule.choices.size(); ++i) {
      const std::string& each = rule.choices[i];
      if (i == kMostListed) return all + " and others";
      if (rule.expected.find("\"" + each + "\"") != std::string::npos && all.empty()) return "";
      all += (all.empty() ? "; there are: " : ", ") + each;
    }
    return all;
  }

  void presence(const XmlElement& element, const AttributeRule& rule) {
    if (!rule.required || element.find(rule.name)) return;
    out_.error(element.where,
               "<" + element.name + "> needs " + rule.name + "=\"...\": " + rule.expected);
  }

  bool is_misplaced(const XmlElement& child, const ElementRule& parent) {
    if (has_child(parent, child.name)) return false;
    const auto& legal = parent.children;
    const std::string inside = " inside <" + parent.name + ">";
    std::string hint =
        legal.empty() ? "; it has no elements inside" : did_you_mean(child.name, legal);
    if (parent.find(child.name)) {
      hint = "; it is an attribute: <" + parent.name + " " + child.name + "=\"...\">";
    }
    if (schema_.find(child.name)) {
      out_.error(child.where, "<" + child.name + "> cannot stand" + inside + parents(child, hint));
    } else {
      out_.error(child.where, "unknown element <" + child.name + ">" + inside + hint);
    }
    return true;
  }

  // "; it belongs into <data> or <group>", or `otherwise`.
  std::string parents(const XmlElement& child, const std::string& otherwise) {
    std::string text;
    for (const ElementRule& rule : schema_.elements()) {
      if (!has_child(rule, child.name)) continue;
      text += (text.empty() ? "; it belongs into <" : " or <") + rule.name + ">";
    }
    return text.empty() ? otherwise : text;
  }

  const Schema& schema_;
  DiagnosticList& out_;
};

}  // namespace

void check_against_schema(const Schema& schema, XmlElement& root, DiagnosticList& out) {
  SchemaCheck(schema, out).element(root);
}

}  // namespace leat::model
