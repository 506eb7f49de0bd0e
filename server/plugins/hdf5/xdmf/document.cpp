// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/xdmf/document.hpp"

#include <algorithm>

#include "server/plugins/hdf5/conventions/tables.hpp"

namespace leat::hdf5::xdmf {
namespace {

// vtkXdmfReader takes steps that are nearer to each other in time for the same one, and gives
// times to ParaView in the order of the steps, where they must ascend.
constexpr double kLeastDifference = 1e-15;

struct Meshes {
  std::vector<std::unique_ptr<Mesh>> shown;  // that are in the file by now
  bool is_collection = false;
};

// Whether they are a collection follows from the run: tools are not to meet another kind of data
// when a mesh comes later than others.
Meshes meshes_in(const Target& target, LeftOut* left_out) {
  Meshes meshes;
  int count = 0;
  for (std::uint32_t i = 0; i < leat_run_mesh_count(&target.run); ++i) {
    const leat_mesh* mesh = leat_mesh_at(&target.run, i);
    if (vtk::variables_on(target.run, *mesh).empty()) continue;
    try {
      if (std::unique_ptr<Mesh> made = make_mesh(target, i, left_out))
        meshes.shown.push_back(std::move(made));
      ++count;
    } catch (const std::exception& e) {
      left_out->insert("mesh \"" + std::string(mesh->name) + "\": " + e.what());
    }
  }
  meshes.is_collection = count > 1;
  return meshes;
}

std::vector<Step> steps_in(hid_t file, const Meshes& meshes) {
  const std::vector<std::int64_t> numbers = integers_of(file, table_of(file, "", "iteration"));
  const std::vector<double> times = times_of_rows(file, numbers);
  const auto is_seen = [&](hsize_t row) {
    return std::any_of(meshes.shown.begin(), meshes.shown.end(),
                       [row](const auto& mesh) { return mesh->is_written(row); });
  };
  std::vector<Step> steps;
  for (hsize_t row = 0; row < numbers.size(); ++row) {
    if (is_seen(row)) steps.push_back({row, numbers[row], times[row]});
  }
  return steps;
}

bool times_ascend(const std::vector<Step>& steps) {
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].time - steps[i - 1].time < kLeastDifference) return false;
  }
  return true;
}

void put_step(const Output& to, const Meshes& meshes, const Step& step) {
  if (meshes.is_collection) begin_collection(to.xml, "meshes", step, false);
  for (const auto& mesh : meshes.shown) mesh->put(to, step, meshes.is_collection);
  if (meshes.is_collection) to.xml.end();
}

}  // namespace

std::string mark_of(const std::string& file_name) {
  return "Leat has made this of " + file_name + ", for tools that do not read VTKHDF.";
}

Facts write_document(hid_t file, const leat_run& run, const std::string& path,
                     const std::string& file_name, const std::function<void()>& progress) {
  Facts facts;
  const std::string why = why_no_name(file_name);
  if (!why.empty()) throw std::runtime_error("XDMF cannot refer to " + file_name + ": " + why);
  const Meshes meshes = meshes_in({file, file, run}, &facts.left_out);
  std::vector<Step> steps = steps_in(file, meshes);
  facts.steps = steps.size();
  if (steps.empty()) return facts;
  if (!times_ascend(steps)) {
    for (Step& step : steps) step.time = static_cast<double>(step.iteration);
    facts.left_out.insert(
        "times, which do not ascend, or are nearer to each other than tools can tell: the numbers "
        "of iterations stand for them");
  }
  XmlStream xml(path);
  xml.comment(mark_of(file_name));
  xml.break_line();
  xml.begin("Xdmf", {{"Version", "2.0"}});
  xml.begin("Domain");
  xml.break_line();
  for (const auto& mesh : meshes.shown) mesh->put_shared(xml);
  xml.begin("Grid",
            {{"Name", run.simulation}, {"GridType", "Collection"}, {"CollectionType", "Temporal"}});
  xml.break_line();
  for (const Step& step : steps) {
    put_step({xml, file_name}, meshes, step);
    progress();
    xml.break_line();
  }
  xml.finish();
  return facts;
}

}  // namespace leat::hdf5::xdmf
