// SPDX-License-Identifier: Apache-2.0
#include "server/state/clients/catalogue_writer.hpp"

#include <cstring>
#include <numeric>
#include <string>
#include <string_view>

#include "lib/base/text.hpp"
#include "lib/model/wanted.hpp"
#include "lib/shm/layout.hpp"

namespace leat::server {
namespace {

// All tables of the catalogue in private memory; laid out one after the other when written.
class Tables {
 public:
  Tables(const model::Model& model, const RestartFacts& restart) {
    const std::vector<std::uint32_t> steps = model::wanted_steps(model);
    for (const model::Parameter& p : model.parameters) add(p);
    for (const model::Layout& layout : model.layouts) add(layout);
    for (const model::Mesh& mesh : model.meshes) add(mesh);
    for (std::size_t i = 0; i < model.variables.size(); ++i) {
      add(model.variables[i], steps[i]);
      variables_.back().flags = flags_of(model, model.variables[i]);
    }
    for (const model::Event& event : model.events) signals_.push_back({text(event.name)});
    restart_.push_back({text(restart.store), text(restart.folder), text(restart.copy),
                        text(restart.why_none), restart.iteration, restart.generation});
  }

  std::uint64_t bytes() const { return place(0).end; }

  void write(const shm::Segment& segment) const {
    const std::uint64_t start = segment.header().catalogue_offset;
    const Places places = place(start);
    *segment.at<shm::CatalogueHeader>(start) = places.header;
    copy(segment, places.header.parameters, parameters_);
    copy(segment, places.header.layouts, layouts_);
    copy(segment, places.header.dimensions, dimensions_);
    copy(segment, places.header.variables, variables_);
    copy(segment, places.header.meshes, meshes_);
    copy(segment, places.header.signals, signals_);
    copy(segment, places.header.restart, restart_);
    copy(segment, places.header.ops, ops_);
    copy(segment, places.header.text, text_);
  }

 private:
  struct Places {
    shm::CatalogueHeader header;
    std::uint64_t end;
  };

  template <class T>
  static void copy(const shm::Segment& segment, std::uint64_t offset, const std::vector<T>& table) {
    if (!table.empty()) std::memcpy(segment.at<T>(offset), table.data(), table.size() * sizeof(T));
  }

  template <class T>
  static std::uint64_t take(std::uint64_t* next, const std::vector<T>& table) {
    constexpr std::uint64_t kAlign = 8;
    const std::uint64_t offset = round_up(*next, kAlign);
    *next = offset + table.size() * sizeof(T);
    return offset;
  }

  Places place(std::uint64_t start) const {
    Places places{};
    shm::CatalogueHeader& h = places.header;
    std::uint64_t next = start + sizeof h;
    h.parameter_count = static_cast<std::uint32_t>(parameters_.size());
    h.layout_count = static_cast<std::uint32_t>(layouts_.size());
    h.dimension_count = static_cast<std::uint32_t>(dimensions_.size());
    h.variable_count = static_cast<std::uint32_t>(variables_.size());
    h.mesh_count = static_cast<std::uint32_t>(meshes_.size());
    h.signal_count = static_cast<std::uint32_t>(signals_.size());
    h.op_count = static_cast<std::uint32_t>(ops_.size());
    h.text_bytes = static_cast<std::uint32_t>(text_.size());
    h.parameters = take(&next, parameters_);
    h.layouts = take(&next, layouts_);
    h.dimensions = take(&next, dimensions_);
    h.variables = take(&next, variables_);
    h.meshes = take(&next, meshes_);
    h.signals = take(&next, signals_);
    h.restart = take(&next, restart_);
    h.ops = take(&next, ops_);
    h.text = take(&next, text_);
    places.end = next;
    return places;
  }

  shm::TextRef text(std::string_view value) {
    const shm::TextRef ref{static_cast<std::uint32_t>(text_.size()),
                           static_cast<std::uint32_t>(value.size())};
    text_.insert(text_.end(), value.begin(), value.end());
    return ref;
  }

  shm::TextRef where(const model::SourceLocation& location) {
    return text(location.file + ":" + std::to_string(location.line));
  }

  shm::ProgramRef program(const model::Expression& expression) {
    const shm::ProgramRef ref{static_cast<std::uint32_t>(ops_.size()),
                              static_cast<std::uint32_t>(expression.program.size()),
                              text(expression.text)};
    ops_.insert(ops_.end(), expression.program.begin(), expression.program.end());
    return ref;
  }

  static std::uint32_t flags_of(const model::Model& model, const model::Variable& variable) {
    return (model.layouts[variable.layout].may_change ? shm::kShapeMayChange : 0U) |
           (variable.derived ? shm::kMadeByServer : 0U) |
           (variable.time_varying ? 0U : shm::kConstant);
  }

  void add(const model::Parameter& p) {
    shm::ParameterRecord record{};
    record.name = text(p.name);
    record.text = text(as_text(p.value));
    record.kind = static_cast<std::uint32_t>(p.kind);
    record.has_value = is_set(p.value);
    record.integer = as_integer(p.value);
    record.real = as_real(p.value);
    parameters_.push_back(record);
  }

  void add(const model::Layout& layout) {
    shm::LayoutRecord record{};
    record.name = text(layout.name);
    record.where = where(layout.where);
    record.type = static_cast<std::uint32_t>(layout.type);
    record.first_dimension = static_cast<std::uint32_t>(dimensions_.size());
    record.dims = static_cast<std::uint32_t>(layout.dimensions.size());
    record.has_global = layout.has_global;
    layouts_.push_back(record);
    for (const model::Dimension& d : layout.dimensions) add(d);
  }

  void add(const model::Dimension& d) {
    shm::DimensionRecord record{};
    record.name = text(d.name);
    record.extent = program(d.extent);
    record.global = program(d.global);
    record.position = program(d.position);
    record.ghost_low = d.ghost_low;
    record.ghost_high = d.ghost_high;
    record.varying = d.varying;
    dimensions_.push_back(record);
  }

  void add(const model::Variable& v, std::uint32_t step) {
    variables_.push_back(shm::VariableRecord{text(v.name), where(v.where), v.layout, step,
                                             v.mesh.value_or(shm::kNoMesh), 0});
  }

  void add(const model::Mesh& mesh) {
    shm::MeshRecord record{};
    record.name = text(mesh.name);
    record.where = where(mesh.where);
    record.is_amr = mesh.kind == model::Mesh::Kind::amr;
    record.dims = mesh.dims;
    record.levels = mesh.levels;
    meshes_.push_back(record);
  }

  std::vector<shm::ParameterRecord> parameters_;
  std::vector<shm::LayoutRecord> layouts_;
  std::vector<shm::DimensionRecord> dimensions_;
  std::vector<shm::VariableRecord> variables_;
  std::vector<shm::MeshRecord> meshes_;
  std::vector<shm::SignalRecord> signals_;
  std::vector<shm::RestartRecord> restart_;
  std::vector<ExpressionOp> ops_;
  std::vector<char> text_;
};

}  // namespace

std::uint64_t catalogue_bytes(const model::Model& model, const RestartFacts& restart) {
  return Tables(model, restart).bytes();
}

void write_catalogue(const model::Model& model, const shm::Segment& segment,
                     const RestartFacts& restart) {
  Tables(model, restart).write(segment);
}

}  // namespace leat::server
