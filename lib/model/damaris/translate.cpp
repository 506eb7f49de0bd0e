// SPDX-License-Identifier: Apache-2.0
#include "lib/model/damaris/translate.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

#include "lib/model/damaris/cell_orders.hpp"
#include "lib/model/damaris/mapping.hpp"
#include "lib/model/damaris/parts.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/xml/parser.hpp"
#include "lib/model/xml/tree.hpp"
#include "lib/model/xml/xml_writer.hpp"

namespace leat::model::damaris {
namespace {

// Attributes have one line: "a\n   b" to "a b".
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!space) line += c;
    if (space && !line.empty() && line.back() != ' ') line += ' ';
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

const XmlAttribute* given(const XmlElement& element, std::string_view attribute) {
  const XmlAttribute* found = element.find(attribute);
  if (!found || found->refused || found->value.empty() || found->value == "#") return nullptr;
  return found;
}

std::string value_of(const XmlElement& element, std::string_view attribute) {
  const XmlAttribute* found = given(element, attribute);
  return found ? found->value : "";
}

const XmlElement* child_of(const XmlElement& element, std::string_view name) {
  for (const XmlElement& child : element.children) {
    if (child.name == name) return &child;
  }
  return nullptr;
}

XmlElement element_at(const XmlElement& from, const char* name) {
  XmlElement made;
  made.name = name;
  made.where = from.where;
  return made;
}

void put(XmlElement& to, const char* name, std::string value, const SourceLocation& where) {
  to.attributes.push_back({name, std::move(value), where, false});
}

void take(XmlElement& to, const char* to_name, const XmlElement& from, const char* name) {
  if (const XmlAttribute* found = from.find(name))
    to.attributes.push_back({to_name, found->value, found->where, found->refused});
}

void take_description(XmlElement& to, const XmlElement& from) {
  const XmlAttribute* comment = given(from, "comment");
  const std::string both = (comment ? comment->value + " " : "") + from.text;
  const std::string text = one_line(both);
  if (!text.empty()) put(to, "description", text, comment ? comment->where : from.where);
}

std::string as_name(std::string name) {
  for (char& c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.';
    if (!good) c = c == '/' ? '.' : '_';
  }
  if (!name.empty() && (name[0] == '-' || name[0] == '.')) name[0] = '_';
  return name;
}

Names::Names(const XmlElement& data, std::string_view tag) { collect(data, tag, ""); }

void Names::collect(const XmlElement& parent, std::string_view tag, const std::string& prefix) {
  for (const XmlElement& child : parent.children) {
    const std::string name = value_of(child, "name");
    const std::string full = prefix + name;
    if (child.name == "group") {
      collect(child, tag, full + "/");
    } else if (child.name == tag) {
      // Two of one full name stay so, and the reader says it.
      const bool other = !prefix.empty() && by_leat_name_.contains(as_name(name));
      const std::string leat = as_name(other ? full : name);
      by_full_name_.try_emplace(full, all_.size());
      by_own_name_.try_emplace(name, all_.size());
      by_leat_name_.try_emplace(leat, all_.size());
      by_element_.try_emplace(&child, all_.size());
      all_.push_back({full, leat, &child});
    }
  }
}

const Names::Entry* Names::in(const Index& index, const std::string& name) const {
  const auto found = index.find(name);
  return found == index.end() ? nullptr : &all_[found->second];
}

const Names::Entry* Names::find(const std::string& reference) const {
  const Entry* full = in(by_full_name_, reference);
  return full ? full : in(by_own_name_, reference);
}

namespace {

constexpr std::string_view kNamespace = "http://damaris.gforge.inria.fr/damaris/model";

bool speaks_of_damaris(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text.find("damaris") != std::string::npos;
}

bool has_words_of_damaris(const XmlElement& root) {
  for (const XmlElement& child : root.children) {
    for (const char* only : {"domains", "queue", "placement"}) {
      if (child.name == "architecture" && child_of(child, only)) return true;
    }
    for (const char* only : {"visit", "paraview"}) {
      if (child.name == only) return true;
    }
  }
  return root.find("language") != nullptr;
}

// False, and an error, when the file is for another Damaris.
bool namespace_fits(const XmlElement& root, DiagnosticList& out) {
  const XmlAttribute* space = root.find("xmlns");
  if (!space || space->value == kNamespace) return true;
  out.error(space->where, "the namespace \"" + space->value +
                              "\" is not that of Damaris 1.x, which is read here: \"" +
                              std::string(kNamespace) + "\"");
  return false;
}

class Translator {
 public:
  Translator(const XmlElement& from, Work& work) : from_(from), work_(work), orders_(work, from) {}

  XmlElement run() {
    XmlElement to = element_at(from_, "simulation");
    take(to, "name", from_, "name");
    for (XmlAttribute& each : to.attributes) each.value = as_name(each.value);
    // As a person would write it, whatever the order in the file.
    for (const XmlElement& each : from_.children) {
      if (each.name == "architecture") to.children.push_back(translate_architecture(work_, each));
    }
    for (const XmlElement& each : from_.children) {
      if (each.name == "data") to.children.push_back(data(each));
    }
    for (const XmlElement& each : from_.children) {
      if (each.name != "storage") continue;
      XmlElement storage =
          translate_storage(work_, each, value_of(from_, "name"), domains(), orders_);
      if (!storage.children.empty()) to.children.push_back(std::move(storage));
    }
    check_scripts_of(work_, from_, variables());
    XmlElement all_scripts = scripts(cores_of(to));
    if (!all_scripts.children.empty()) to.children.push_back(std::move(all_scripts));
    for (const XmlElement& each : from_.children) {
      if (each.name != "actions") continue;
      XmlElement actions = translate_actions(work_, each);
      if (!actions.children.empty()) to.children.push_back(std::move(actions));
    }
    for (const XmlElement& each : from_.children) {
      if (each.name == "log") to.children.push_back(translate_log(each));
    }
    return to;
  }

 private:
  XmlElement data(const XmlElement& from) {
    return translate_data(
        work_, from,
        {null_stores(from_), value_of(from_, "language") == "fortran", domains(), &orders_});
  }

  // Those of <scripts> and of <paraview>.
  XmlElement scripts(const std::string& cores) const {
    XmlElement all = element_at(from_, "scripts");
    for (const XmlElement& each : from_.children) {
      if (each.name != "scripts" && each.name != "paraview") continue;
      XmlElement some = each.name == "scripts" ? translate_scripts(work_, each, variables(), cores)
                                               : translate_paraview(work_, each);
      if (all.children.empty()) all.where = some.where;
      std::move(some.children.begin(), some.children.end(), std::back_inserter(all.children));
    }
    return all;
  }

  const XmlAttribute* domains() const {
    const XmlElement* architecture = child_of(from_, "architecture");
    const XmlElement* domains = architecture ? child_of(*architecture, "domains") : nullptr;
    const XmlAttribute* count = domains ? given(*domains, "count") : nullptr;
    return count && std::strtoll(count->value.c_str(), nullptr, 10) > 1 ? count : nullptr;
  }

  Names variables() const {
    static const XmlElement kNone;
    const XmlElement* data = child_of(from_, "data");
    return Names(data ? *data : kNone, "variable");
  }

  // As they are translated.
  static std::string cores_of(const XmlElement& translated) {
    const XmlElement* architecture = child_of(translated, "architecture");
    const XmlElement* dedicated = architecture ? child_of(*architecture, "dedicated") : nullptr;
    const std::string cores = dedicated ? value_of(*dedicated, "cores") : "";
    return cores.empty() ? "1" : cores;
  }

  const XmlElement& from_;
  Work& work_;
  const CellOrders orders_;
};

}  // namespace

bool is_damaris(const XmlElement& root) {
  if (root.name != "simulation") return false;
  const XmlAttribute* space = root.find("xmlns");
  return has_words_of_damaris(root) || (space && speaks_of_damaris(space->value));
}

std::optional<Translation> translate(XmlElement root, const Schema& schema, DiagnosticList& out) {
  if (!namespace_fits(root, out)) return std::nullopt;
  Remarks remarks;
  check_against_table(root, remarks, out);
  Work work{schema, remarks, out};
  XmlElement to = Translator(root, work).run();
  if (const XmlAttribute* const nodes = dedicated_nodes(root)) use_dedicated_nodes(&to, *nodes);
  fit_meshes(work, to);
  remarks.say_to(out);
  return Translation{std::move(to), remarks.all()};
}

namespace {

std::string head(const std::string& path) {
  return "<!-- Made by `leat convert` from " + std::filesystem::path(path).filename().string() +
         ", which is for Damaris. -->\n";
}

std::string text_of(const Translation& translation, const std::string& path) {
  std::vector<XmlComment> comments;
  for (const Remark& each : translation.remarks) comments.push_back({each.element, each.text()});
  return head(path) + xml_text(translation.root, comments);
}

}  // namespace

Converted convert_file(const std::string& path) {
  const ReadResult read = read_file(path);
  Converted result{std::nullopt, read.diagnostics};
  if (!read.model) return result;
  // The text that was read, so that file and diagnostics are of one state of it.
  DiagnosticList said;
  std::optional<XmlElement> root = parse_xml(read.model->source_text, path, said);
  if (root && !is_damaris(*root)) {
    result.diagnostics.push_back({Severity::error, root->where,
                                  "this is an XML for Leat already; there is nothing to convert"});
    return result;
  }
  if (!root) return result;
  expand_environment(*root, said);
  const Schema schema;
  if (const auto translation = translate(std::move(*root), schema, said))
    result.text = text_of(*translation, path);
  return result;
}

}  // namespace leat::model::damaris
