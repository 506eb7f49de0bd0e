// SPDX-License-Identifier: Apache-2.0
// The parts of a translation, one file each.
#pragma once

#include <optional>

#include "lib/model/damaris/mapping.hpp"
#include "lib/model/damaris/translate.hpp"
#include "lib/model/xml/schema.hpp"

namespace leat::model::damaris {

struct Work {
  const Schema& schema;
  Remarks& remarks;
  DiagnosticList& out;
};

XmlElement translate_architecture(Work& work, const XmlElement& from);
class CellOrders;
/// `domains`: as Surroundings has it.
XmlElement translate_storage(Work& work, const XmlElement& from, const std::string& simulation,
                             const XmlAttribute* domains, const CellOrders& orders);
/// Whether a store makes one array of what all ranks have of a global one.
bool is_collective_store(const XmlElement& store);
/// The names in store="..." of a variable.
std::vector<std::string> stores_in(const XmlElement& variable);
XmlElement translate_actions(Work& work, const XmlElement& from);
/// Says which of the names in their script="..." no script has.
void check_scripts_of(Work& work, const XmlElement& root, const Names& variables);
/// `variables`: of the file. `cores`: dedicated ones.
XmlElement translate_scripts(Work& work, const XmlElement& from, const Names& variables,
                             const std::string& cores);
/// <scripts> of what ParaView draws.
XmlElement translate_paraview(Work& work, const XmlElement& from);
XmlElement translate_log(const XmlElement& from);

/// Stores of a file that store nothing.
/// The attribute that says how many nodes are dedicated, when they are; null: none.
const XmlAttribute* dedicated_nodes(const XmlElement& root);
/// Has the stores and scripts of what was translated work there.
void use_dedicated_nodes(XmlElement* to, const XmlAttribute& nodes);

std::vector<std::string> null_stores(const XmlElement& root);

/// What is said outside of <data> that it depends on.
struct Surroundings {
  std::vector<std::string> null_stores;
  bool is_fortran = false;                ///< what layouts are that say nothing
  const XmlAttribute* domains = nullptr;  ///< blocks of a rank, when there may be several
  const CellOrders* orders = nullptr;
};

XmlElement translate_data(Work& work, const XmlElement& from, const Surroundings& around);

XmlElement translate_parameter(Work& work, const XmlElement& from);

/// What the variables of a layout are for.
struct LayoutUse {
  bool types = false;    ///< types of cells
  bool vectors = false;  ///< one vector after the other, though the dimensions say otherwise
};

/// The values of `parameters` are needed for ghosts that are expressions.
XmlElement translate_layout(Work& work, const XmlElement& from, const std::string& name,
                            const LayoutUse& use, const Surroundings& around,
                            const std::vector<Parameter>& parameters);
/// A layout of one value for a simple type that is named like a layout, nothing for other names.
std::optional<XmlElement> layout_of_one(const std::string& type, const SourceLocation& where);

/// Nothing, and a warning, when Leat has no such mesh.
std::optional<XmlElement> translate_mesh(Work& work, const XmlElement& from,
                                         const std::string& name);

/// Turns the axes of meshes round, or takes variables off them, where they would not fit.
void fit_meshes(Work& work, XmlElement& root);

}  // namespace leat::model::damaris
