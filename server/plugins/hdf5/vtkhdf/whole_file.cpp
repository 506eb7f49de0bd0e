// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/whole_file.hpp"

#include <filesystem>
#include <memory>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/conventions/run_description.hpp"
#include "server/plugins/hdf5/conventions/stored_tables.hpp"
#include "server/plugins/hdf5/vtkhdf/vtkhdf.hpp"

namespace leat::hdf5 {
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
  const leat_host host{sizeof host, not_shown, keep_message, nullptr, nullptr, nullptr, nullptr};
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
  try {
    auto run = std::make_unique<DescribedRun>(file);
    return VtkHdf::shows(run->run()) ? std::move(run) : nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
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
