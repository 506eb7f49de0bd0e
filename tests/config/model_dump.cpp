// SPDX-License-Identifier: Apache-2.0
#include "tests/config/model_dump.hpp"

#include <sstream>

#include "lib/model/words.hpp"

namespace leat::model {
namespace {

std::string described(const std::string& description) {
  return description.empty() ? "\n" : ": " + description + "\n";
}

std::string options(const std::vector<Option>& all) {
  std::string text;
  for (const Option& each : all) text += " " + each.name + "=" + each.value;
  return text;
}

void dump(std::ostream& out, const Parameter& p) {
  out << "parameter " << p.name << " ";
  switch (p.kind) {
    case Parameter::Kind::integer:
      out << "int " << (is_set(p.value) ? std::to_string(as_integer(p.value)) : "unset");
      break;
    case Parameter::Kind::real:
      out << "double ";
      is_set(p.value) ? out << as_real(p.value) : out << "unset";
      break;
    case Parameter::Kind::text:
      out << "string " << (is_set(p.value) ? "\"" + std::string(as_text(p.value)) + "\"" : "unset");
      break;
  }
  out << described(p.description);
}

void dump(std::ostream& out, const Layout& layout) {
  out << "layout " << layout.name << " " << scalar_name(layout.type)
      << " dimensions=" << layout.dimensions.size() << (layout.partial ? " partial" : "")
      << (layout.may_change ? " varying" : "")
      << (layout.blocks == 1 ? "" : " blocks=" + std::to_string(layout.blocks))
      << described(layout.description);
  for (const Dimension& each : layout.dimensions) {
    out << "  " << each.name << ": " << (each.varying ? "?" : each.extent.text);
    if (layout.has_global) out << " of " << each.global.text;
    out << " ghosts " << each.ghost_low << ":" << each.ghost_high << "\n";
  }
}

std::string numbers(const std::vector<double>& all) {
  std::ostringstream text;
  for (std::size_t i = 0; i < all.size(); ++i) text << (i ? "," : "") << all[i];
  return text.str();
}

void dump(std::ostream& out, const Model& model, const Mesh& mesh) {
  out << "mesh " << mesh.name << " " << word_of(mesh.kind) << " dims=" << mesh.dims;
  if (!mesh.origin.empty())
    out << " origin=" << numbers(mesh.origin) << " spacing=" << numbers(mesh.spacing)
        << " unit=" << mesh.unit;
  if (mesh.kind == Mesh::Kind::amr) out << " levels=" << mesh.levels << " ratio=" << mesh.ratio;
  for (const std::uint32_t each : mesh.coordinates) out << " " << model.variables[each].name;
  if (mesh.connectivity) out << " cells=" << model.variables[*mesh.connectivity].name;
  if (mesh.offsets) out << " offsets=" << model.variables[*mesh.offsets].name;
  if (mesh.types) out << " types=" << model.variables[*mesh.types].name;
  if (mesh.cell_type != CellShape{}) out << " all " << static_cast<int>(mesh.cell_type);
  out << described(mesh.description);
}

std::string place_of(const Model& model, const Variable& variable) {
  std::string text;
  if (variable.mesh)
    text += " on " + model.meshes[*variable.mesh].name +
            (variable.centering == Centering::nodal ? " nodal" : " zonal");
  if (!variable.standard_name.empty()) text += " is " + variable.standard_name;
  if (!variable.cell_methods.empty()) text += " by " + variable.cell_methods;
  if (!variable.comment.empty()) text += " (" + variable.comment + ")";
  return text;
}

void dump(std::ostream& out, const Model& model, const Variable& variable) {
  out << "variable " << variable.name << " layout=" << model.layouts[variable.layout].name
      << " unit=" << variable.unit << " stores=";
  for (std::size_t i = 0; i < variable.stores.size(); ++i) {
    out << (i ? "," : "") << model.stores[variable.stores[i]].name;
  }
  out << place_of(model, variable) << (variable.time_varying ? "" : " constant")
      << options(variable.options) << described(variable.description);
}

void dump(std::ostream& out, const Store& store) {
  out << "store " << store.name
      << (store.type.empty() ? " library=" + store.library : " type=" + store.type)
      << " every=" << store.every
      << (store.max_writers > 0 ? " max-writers=" + std::to_string(store.max_writers) : "")
      << (store.runs == Schedule::server ? "" : std::string(" runs=") + word_of(store.runs))
      << (store.waits ? "" : " skips") << options(store.options) << "\n";
}

std::string numa(Numa policy) {
  switch (policy) {
    case Numa::client:
      return "";
    case Numa::server:
      return " at the server";
    case Numa::interleave:
      return " interleaved";
  }
  return "?";
}

std::string overflow_policy(const Architecture& architecture) {
  switch (architecture.overflow_policy) {
    case OverflowPolicy::wait:
      return "";
    case OverflowPolicy::drop_iteration:
      return " drops";
    case OverflowPolicy::spill:
      return " spills " + std::to_string(architecture.spill_bytes) + " to " +
             architecture.spill_folder;
    case OverflowPolicy::error:
      return " fails";
  }
  return "?";
}

const char* mode(EndMode mode) {
  switch (mode) {
    case EndMode::async:
      return "";
    case EndMode::sync:
      return " sync";
    case EndMode::automatic:
      return " auto";
  }
  return "?";
}

std::string network(const NetworkFields& network) {
  const std::string of = network.interface.empty() ? "" : " of " + network.interface;
  switch (network.carrier) {
    case Carrier::automatic:
      return of.empty() ? "" : " network" + of;
    case Carrier::tcp:
      return " tcp" + of;
    case Carrier::folder:
      return " by folder";
    case Carrier::none:
      return " without other servers";
  }
  return "?";
}

void dump(std::ostream& out, const ForeignScript& script) {
  out << " " << word_of(script.form) << " every=" << script.every
      << (script.args.empty() ? "" : " args=" + script.args)
      << (script.scope == model::ScriptScope::run ? " scope=run" : "")
      << " variables=" << script.variables.size();
}

void dump(std::ostream& out, const Scripts& scripts) {
  out << "scripts interpreter=" << scripts.interpreter << " workers=" << scripts.workers
      << " memory=" << scripts.memory_bytes << " output=" << scripts.output
      << (scripts.runs == Schedule::idle ? " runs=idle" : "") << "\n";
  for (const ScriptSource& each : scripts.sources) {
    out << (each.is_folder ? "folder " : "script ") << each.path
        << " timeout=" << each.timeout_seconds << " failures=" << each.failures
        << (each.waits ? " waits" : " skips");
    if (each.foreign) dump(out, *each.foreign);
    if (each.dask)
      out << " dask=" << each.dask->file << " threads=" << each.dask->threads
          << " within=" << each.dask->timeout_seconds;
    out << "\n";
  }
}

}  // namespace

std::string dump(const Model& model) {
  std::ostringstream out;
  out << "simulation " << model.name << described(model.description);
  if (!model.trace.empty()) out << "trace " << model.trace << "\n";
  out << "cores " << model.architecture.dedicated_cores << " grace "
      << model.architecture.grace_seconds << mode(model.architecture.mode)
      << (model.architecture.place == Place::ranks ? " in ranks" : "");
  if (model.architecture.servers > 1) out << " servers " << model.architecture.servers;
  out << "\n";
  out << "buffer " << model.architecture.buffer_bytes << " timeout "
      << model.architecture.timeout_seconds << overflow_policy(model.architecture) << " checksum "
      << (model.architecture.checksum == Checksum::crc32c ? "crc32c" : "none")
      << numa(model.architecture.numa) << network(model.architecture.network) << "\n";
  for (const Parameter& each : model.parameters) dump(out, each);
  for (const Layout& each : model.layouts) dump(out, each);
  if (model.time)
    out << "time " << model.parameters[model.time->parameter].name << " in " << model.time->unit
        << " calendar " << model.time->calendar << "\n";
  for (const Mesh& each : model.meshes) dump(out, model, each);
  for (const Variable& each : model.variables) dump(out, model, each);
  for (const Store& each : model.stores) dump(out, each);
  if (model.scripts.exist()) dump(out, model.scripts);
  if (model.data.undeclared != Undeclared::warn)
    out << "undeclared " << word_of(model.data.undeclared) << "\n";
  out << "log " << model.log.level << " " << model.log.file
      << (model.log.append ? " behind what is there" : "") << "\n";
  return out.str();
}

}  // namespace leat::model
