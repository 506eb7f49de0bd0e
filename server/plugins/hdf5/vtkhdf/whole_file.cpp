// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/whole_file.hpp"

#include <unistd.h>

#include <filesystem>

#include "server/plugins/hdf5/first_row.hpp"
#include "server/plugins/hdf5/row_times.hpp"
#include "server/plugins/hdf5/run_description.hpp"
#include "server/plugins/hdf5/view/part.hpp"
#include "server/plugins/hdf5/vtkhdf/vtkhdf.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

void keep_message(void* left_out, int, const char* message) {
  static_cast<LeftOut*>(left_out)->push_back(message);
}

// In which rows something of a mesh was written.
std::vector<bool> rows_with_meshes(hid_t values, const leat_run& run, const VtkHdf& vtkhdf,
                                   hsize_t rows) {
  std::vector<bool> seen(rows, false);
  const vtk::Place place{values, values, run};
  for (std::uint32_t i = 0; i < run.variable_count; ++i) {
    if (!vtkhdf.is_of_a_mesh(i)) continue;
    const std::optional<vtk::Field> field = vtk::field_in(place, i);
    if (!field) continue;
    vtk::WrittenRows written(place, *field);
    for (hsize_t row = 0; row < rows; ++row)
      seen[row] = seen[row] || (field->varies && written.at(row));
    const Id dataset(H5Dopen2(values, field->path().c_str(), H5P_DEFAULT), field->path());
    const hsize_t once = first_row(dataset);
    if (!field->varies && once < rows) seen[once] = true;
  }
  return seen;
}

// While they are open, opening them once more costs nothing. Each time else it reads all mappings
// of a virtual dataset.
std::vector<Id> opened(hid_t values, const leat_run& run) {
  std::vector<Id> all;
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const std::string name = leat_variable_at(&run, i)->name;
    if (is_dataset(values, name))
      all.emplace_back(H5Dopen2(values, name.c_str(), H5P_DEFAULT), "cannot open " + name);
  }
  return all;
}

void make_steps(hid_t file, hid_t values, const leat_run& run, LeftOut* left_out) {
  const leat_host host{sizeof host, left_out, keep_message, nullptr};
  const std::vector<Id> kept = opened(values, run);
  VtkHdf vtkhdf({file, values, run}, Host(&host));
  const std::vector<std::int64_t> iterations =
      integers_of(values, table_of(values, "", "iteration"));
  const std::vector<double> times = times_of_rows(values, iterations);
  const std::vector<bool> seen = rows_with_meshes(values, run, vtkhdf, iterations.size());
  std::vector<vtk::Step> steps;
  for (hsize_t row = 0; row < seen.size(); ++row) {
    if (seen[row]) steps.push_back({row, times[row]});
  }
  if (!steps.empty()) vtkhdf.add(steps);
}

// Once it has its name, there is none.
struct Copy {
  std::string path;
  ~Copy() { ::unlink(path.c_str()); }
};

}  // namespace

bool is_for_vtk(hid_t file) {
  try {
    return VtkHdf::shows(DescribedRun(file).run());
  } catch (const std::exception&) {
    return false;
  }
}

LeftOut add_vtkhdf(hid_t file, hid_t values) {
  LeftOut left_out;
  if (!is_for_vtk(file) || is_in(file, "VTKHDF")) return left_out;
  try {
    make_steps(file, values, DescribedRun(file).run(), &left_out);
  } catch (const std::exception& e) {
    left_out.push_back(std::string("there is no /VTKHDF: ") + e.what());
    if (is_in(file, "VTKHDF")) H5Ldelete(file, "VTKHDF", H5P_DEFAULT);
  }
  return left_out;
}

LeftOut add_vtkhdf(const std::string& path) {
  LeftOut left_out;
  try {
    const Copy copy{path + ".vtk"};
    {
      const Id values(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), path);
      if (!is_for_vtk(values)) return left_out;
      fs::copy_file(path, copy.path, fs::copy_options::overwrite_existing);
      const Id file(H5Fopen(copy.path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), copy.path);
      left_out = add_vtkhdf(file, values);
      check(H5Fflush(file, H5F_SCOPE_LOCAL), "cannot write " + copy.path);
    }
    fs::rename(copy.path, path);
  } catch (const std::exception& e) {
    left_out.push_back(std::string("there is no /VTKHDF: ") + e.what());
  }
  return left_out;
}

}  // namespace leat::hdf5
