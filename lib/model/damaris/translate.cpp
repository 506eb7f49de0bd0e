// SPDX-License-Identifier: Apache-2.0
#include "lib/model/damaris/translate.hpp"

#include <algorithm>
#include <cstdlib>

#include "lib/model/damaris/cell_orders.hpp"
#include "lib/model/damaris/parts.hpp"
#include "lib/model/damaris/table_check.hpp"
#include "lib/model/damaris/tree.hpp"

namespace leat::model::damaris {
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
    for (const XmlElement& each : from_.children) {
      if (each.name != "scripts") continue;
      XmlElement scripts = translate_scripts(work_, each, variables(), cores_of(to));
      if (!scripts.children.empty()) to.children.push_back(std::move(scripts));
    }
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
  fit_meshes(work, to);
  remarks.say_to(out);
  return Translation{std::move(to), remarks.all()};
}

}  // namespace leat::model::damaris
