// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/vtkhdf.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"

namespace leat::hdf5 {
namespace {

constexpr char kRoot[] = "VTKHDF";

vtk::MakeMesh* maker_of(std::uint32_t kind) {
  switch (static_cast<leat_mesh_kind>(kind)) {
    case LEAT_MESH_UNIFORM:
      return vtk::make_image_mesh;
    case LEAT_MESH_RECTILINEAR:
    case LEAT_MESH_CURVILINEAR:
      return vtk::make_grid_mesh;
    case LEAT_MESH_UNSTRUCTURED:
      return vtk::make_cells_mesh;
    case LEAT_MESH_POINTS:
      return vtk::make_points_mesh;
    case LEAT_MESH_AMR:
      return vtk::make_amr_mesh;
  }
  return nullptr;
}

bool fits_collections(const vtk::Mesh& mesh) { return mesh.described().kind != LEAT_MESH_AMR; }

// A variable of that name, or a group of them.
bool is_name_taken(const leat_run& run) {
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const std::string name = leat_variable_at(&run, i)->name;
    if (name.substr(0, name.find('/')) == kRoot) return true;
  }
  return false;
}

// A node of VTK's assembly is named like an XML element.
std::string node_name(const std::string& mesh) {
  std::string name = mesh;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.') c = '_';
  }
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name[0]))) name = "_" + name;
  return name == "Steps" || name == "Assembly" ? name + "_" : name;
}

}  // namespace

VtkHdf::VtkHdf(const vtk::Target& target, const Host& host) : target_(target), host_(host) {
  const leat_run& run = target.run;
  if (!shows(run)) return;
  for (std::uint32_t i = 0; i < leat_run_mesh_count(&run); ++i) {
    const leat_mesh* mesh = leat_mesh_at(&run, i);
    if (vtk::MakeMesh* const make = maker_of(mesh->kind);
        make && !vtk::variables_on(run, *mesh).empty())
      meshes_.push_back(make(target, host, i));
  }
  if (meshes_without_place(run) == 0) go_on();
}

// With what is in the file. Where the simulation says where meshes lie, it is known with the first iteration.
void VtkHdf::go_on() {
  if (std::exchange(has_gone_on_, true)) return;
  try {
    is_collection_ = is_in(target_.file, std::string(kRoot) + "/Assembly");
    resume();
    leave_out_of_collections();
  } catch (const std::exception& e) {
    meshes_.clear();
    host_.warn(std::string("/VTKHDF stays as it is: ") + e.what());
  }
}

bool VtkHdf::shows(const leat_run& run) {
  if (run.ranks > run.node_ranks || is_name_taken(run)) return false;
  for (std::uint32_t i = 0; i < leat_run_mesh_count(&run); ++i) {
    if (!vtk::variables_on(run, *leat_mesh_at(&run, i)).empty()) return true;
  }
  return false;
}

// Where there is no collection, all meshes would have the same group: it is that of an amr mesh, or of another one.
bool VtkHdf::is_shown_as(const vtk::Mesh& mesh, const std::string& group) const {
  if (!is_in(target_.file, group + "/Steps")) return false;
  const Id object(H5Gopen2(target_.file, group.c_str(), H5P_DEFAULT), "cannot open " + group);
  const bool is_amr = text_attribute(object, "Type", "") == "OverlappingAMR";
  return is_amr == (mesh.described().kind == LEAT_MESH_AMR);
}

void VtkHdf::resume() {
  for (const auto& mesh : meshes_) {
    const std::string group = group_of(mesh->described());
    if (!is_shown_as(*mesh, group) || !mesh->is_ready()) continue;
    mesh->open(group);
    if (steps_.empty()) steps_ = mesh->steps();
  }
}

void VtkHdf::add(hsize_t row, const leat_iteration_data& data,
                 const std::set<std::uint32_t>& written) {
  const auto is_seen = [this](std::uint32_t variable) { return is_of_a_mesh(variable); };
  if (meshes_.empty() || std::none_of(written.begin(), written.end(), is_seen)) return;
  try {
    const double time = time_of(target_.run, data);
    add({{row, std::isfinite(time) ? time : static_cast<double>(data.iteration)}});
  } catch (const std::exception& e) {
    if (reported_.insert(e.what()).second)
      host_.warn(std::string("/VTKHDF does not show iteration ") + std::to_string(data.iteration) +
                 ", and the like of it: " + e.what());
  }
}

void VtkHdf::finish() {
  go_on();
  try {
    for (const auto& mesh : meshes_) {
      if (mesh->is_open()) mesh->finish();
    }
  } catch (const std::exception& e) {
    host_.warn(std::string("/VTKHDF is longer than what it shows: ") + e.what());
  }
}

void VtkHdf::add(const std::vector<vtk::Step>& more) {
  go_on();
  std::vector<vtk::Step> steps = steps_;
  steps.insert(steps.end(), more.begin(), more.end());
  leave_out_of_collections();
  std::size_t shown = 0;
  for_each_mesh([&](vtk::Mesh* mesh) { shown += mesh->is_open() || mesh->is_ready(); });
  if (!is_collection_ && shown > 1) become_collection();
  for_each_mesh([&](vtk::Mesh* mesh) {
    if (!mesh->is_open() && mesh->is_ready()) open(mesh);
  });
  for (const auto& mesh : meshes_) {
    if (mesh->is_open()) mesh->add(steps);
    is_alive();
  }
  steps_ = std::move(steps);
  if (is_collection_) count_steps();
}

// Those of which it throws are shown no more.
void VtkHdf::for_each_mesh(const std::function<void(vtk::Mesh*)>& what) {
  for (auto mesh = meshes_.begin(); mesh != meshes_.end();) {
    try {
      what(mesh->get());
      ++mesh;
    } catch (const std::exception& e) {
      host_.info("/VTKHDF: mesh \"" + std::string((*mesh)->described().name) +
                 "\" is not shown: " + e.what());
      mesh = meshes_.erase(mesh);
    }
  }
}

// Where one is shown that no collection can have, it stays alone; such a one comes first.
void VtkHdf::leave_out_of_collections() {
  const vtk::Mesh* alone = nullptr;
  for (const bool is_open : {true, false}) {
    for_each_mesh([&](vtk::Mesh* mesh) {
      const bool counts = is_open ? mesh->is_open() : !fits_collections(*mesh);
      if (!alone && counts && (is_open || mesh->is_ready())) alone = mesh;
    });
  }
  for_each_mesh([&](vtk::Mesh* mesh) {
    const bool fits =
        mesh == alone || !alone || (fits_collections(*mesh) && fits_collections(*alone));
    if (!fits && mesh->is_ready())
      throw std::runtime_error("VTK shows an amr mesh alone, and \"" +
                               std::string(alone->described().name) + "\" is shown");
  });
}

// The group of the mesh that was shown alone becomes one in that of all.
void VtkHdf::become_collection() {
  is_collection_ = true;
  const auto alone = std::find_if(meshes_.begin(), meshes_.end(),
                                  [](const auto& mesh) { return mesh->is_open(); });
  if (alone == meshes_.end()) return;
  const std::string root = kRoot, group = group_of((*alone)->described());
  std::string aside = root + "_";
  while (is_in(target_.file, aside)) aside += "_";
  move_link(target_.file, root, aside);
  head_of_collection();
  move_link(target_.file, aside, group);
  (*alone)->move_to(group);
  list_in_assembly(**alone);
}

void VtkHdf::open(vtk::Mesh* mesh) {
  if (is_collection_) head_of_collection();
  mesh->open(group_of(mesh->described()));
  if (is_collection_) list_in_assembly(*mesh);
}

std::string VtkHdf::group_of(const leat_mesh& mesh) const {
  const std::string root = kRoot;
  return is_collection_ ? root + "/" + node_name(mesh.name) : root;
}

// vtkHDFReader (9.4 to 9.7.2) looks for the number of steps in a group Steps of the collection too,
// though the format has it in each mesh only; without it a collection stays at its first step. All
// groups of a PartitionedDataSetCollection are blocks, with the names of the groups; those of a
// MultiBlockDataSet are what its assembly lists, so there it may be. It is to be like a data set,
// and the first one: times are taken from the last.
void VtkHdf::head_of_collection() const {
  const std::string root = kRoot;
  const Id group = vtk::group_at(target_.file, root);
  const Id steps = vtk::group_at(target_.file, root + "/Steps");
  vtk::put_text(group, "Type", "MultiBlockDataSet");
  set_attribute(group, "Version", std::vector<std::int64_t>{2, 1});
  vtk::put_text(steps, "Type", "ImageData");
  set_attribute(steps, "Version", std::vector<std::int64_t>{2, 0});
  vtk::group_at(target_.file, root + "/Assembly");
}

void VtkHdf::list_in_assembly(const vtk::Mesh& mesh) const {
  const std::string node = std::string(kRoot) + "/Assembly/" + node_name(mesh.described().name);
  if (is_in(target_.file, node)) return;
  check(H5Lcreate_soft(("/" + mesh.group()).c_str(), target_.file, node.c_str(), link_creation(),
                       H5P_DEFAULT),
        "cannot list a mesh");
}

void VtkHdf::count_steps() const {
  const std::string steps = std::string(kRoot) + "/Steps";
  if (!is_in(target_.file, steps)) return;
  set_attribute(vtk::group_at(target_.file, steps), "NSteps",
                static_cast<std::int64_t>(steps_.size()));
}

bool VtkHdf::is_of_a_mesh(std::uint32_t variable) const {
  const leat_mesh* on = leat_variable_mesh(&target_.run, leat_variable_at(&target_.run, variable));
  return std::any_of(meshes_.begin(), meshes_.end(), [&](const auto& mesh) {
    const leat_mesh& made = mesh->described();
    return on == &made || std::count(made.coordinate, made.coordinate + made.coordinate_count,
                                     static_cast<std::int32_t>(variable)) > 0;
  });
}

namespace {

namespace fs = std::filesystem;

void keep_message(void* not_shown, int, const char* message) {
  static_cast<NotShown*>(not_shown)->push_back(message);
}

// In which rows something of a mesh was written.
vtk::RowsOfAny rows_with_meshes(hid_t values, const leat_run& run, const VtkHdf& vtkhdf) {
  vtk::RowsOfAny rows;
  const vtk::Target target{values, values, run};
  for (std::uint32_t i = 0; i < run.variable_count; ++i) {
    if (!vtkhdf.is_of_a_mesh(i)) continue;
    if (const std::optional<vtk::Field> field = vtk::field_in(target, i))
      rows.watch(target, *field);
  }
  return rows;
}

// While they are open, opening them once more costs nothing. Each time else it reads all mappings
// of a virtual dataset.
std::vector<Id> opened_variables(hid_t values, const leat_run& run) {
  std::vector<Id> all;
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const std::string name = leat_variable_at(&run, i)->name;
    if (is_dataset(values, name)) all.push_back(open_dataset(values, name));
  }
  return all;
}

void make_steps(hid_t file, hid_t values, const leat_run& run, NotShown* not_shown) {
  leat_host host{};
  host.size = sizeof host;
  host.context = not_shown;
  host.log = keep_message;
  const std::vector<Id> kept = opened_variables(values, run);
  VtkHdf vtkhdf({file, values, run}, Host(&host));
  const std::vector<std::int64_t> iterations =
      integers_of(values, table_of(values, "", "iteration"));
  const std::vector<double> times = times_of_rows(values, iterations);
  vtk::RowsOfAny written = rows_with_meshes(values, run, vtkhdf);
  std::vector<vtk::Step> steps;
  for (hsize_t row = 0; row < iterations.size(); ++row) {
    if (written.at(row)) steps.push_back({row, times[row]});
    is_alive();
  }
  if (!steps.empty()) vtkhdf.add(steps);
  vtkhdf.finish();
}

// As HDF5 opens them for the virtual datasets of the file: without all that its opener had said.
void expect_sources(hid_t file, const fs::path& folder, const std::vector<std::string>& sources) {
  const Id list(H5Fget_access_plist(file), "how the view is open");
  for (const std::string& source : sources) {
    const std::string path = folder / source;
    const Id opened(H5Fopen(path.c_str(), H5F_ACC_RDONLY, list), "HDF5 cannot open " + path);
  }
}

// None when the file does not say what its run is, or that has no meshes.
std::unique_ptr<DescribedRun> run_for_vtk(hid_t file) {
  auto run = described_run(file);
  return run && VtkHdf::shows(run->run()) ? std::move(run) : nullptr;
}

NotShown add_group(hid_t file, hid_t values, const leat_run& run) {
  NotShown not_shown;
  if (is_in(file, "VTKHDF")) return not_shown;
  try {
    make_steps(file, values, run, &not_shown);
  } catch (const std::exception& e) {
    not_shown.push_back(std::string("there is no /VTKHDF: ") + e.what());
    if (is_in(file, "VTKHDF")) H5Ldelete(file, "VTKHDF", H5P_DEFAULT);
  }
  return not_shown;
}

}  // namespace

bool is_for_vtk(hid_t file) { return run_for_vtk(file) != nullptr; }

NotShown add_vtkhdf(hid_t file, hid_t values) {
  const std::unique_ptr<DescribedRun> run = run_for_vtk(file);
  return run ? add_group(file, values, run->run()) : NotShown();
}

NotShown add_vtkhdf(const std::string& path, const std::vector<std::string>& sources) {
  NotShown not_shown;
  try {
    TemporaryFile copy(path + ".vtk");
    {
      // As the parts are open: HDF5 opens none of them again with other locks.
      const Id values = open_plain(path, path);
      const std::unique_ptr<DescribedRun> run = run_for_vtk(values);
      if (!run) return not_shown;
      expect_sources(values, fs::path(path).parent_path(), sources);
      fs::copy_file(path, copy.open_path(), fs::copy_options::overwrite_existing);
      const Id file = change_plain(copy.path(), copy.path());
      not_shown = add_group(file, values, run->run());
      check(H5Fflush(file, H5F_SCOPE_LOCAL), "cannot write " + copy.path());
    }
    copy.rename_to(path);
  } catch (const std::exception& e) {
    not_shown.push_back(std::string("there is no /VTKHDF: ") + e.what());
  }
  return not_shown;
}

}  // namespace leat::hdf5
