// SPDX-License-Identifier: Apache-2.0
// The group /VTKHDF: of a file that grows, and of one that has all its rows.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/vtkhdf/mesh.hpp"

namespace leat::hdf5 {

// The run's meshes for VTK and ParaView: the group /VTKHDF, in the file and without a second copy
// of data. Source: VTKHDF file format specification (docs.vtk.org), version 2.
//
// One mesh is /VTKHDF itself, as long as no other is stored: VTK 9.3 reads no collections. Several
// are a MultiBlockDataSet with a group for each, called after it. A step stands for an iteration in
// which something of a mesh was written, and is added by the same commit that adds the row to
// /iteration: who sees a step, sees its data.

class VtkHdf {
 public:
  /// Goes on with what is in the file. In the part of one of several servers, and where the group
  /// would take the name of a variable, there is none.
  VtkHdf(const vtk::Target& target, const Host& host);

  /// Adds row `row`, whose data are in the file; `written`: variables of which something is. Never
  /// throws: what cannot be shown to VTK is told in the log, and is stored nevertheless.
  void add(hsize_t row, const leat_iteration_data& data, const std::set<std::uint32_t>& written);

  /// Adds rows that have something of a mesh, in ascending order. Throws what add() tells.
  void add(const std::vector<vtk::Step>& more);
  /// No more rows come. Never throws, like the first.
  void finish();
  /// Whether a file of this run is to have the group, as soon as something of a mesh is written.
  static bool shows(const leat_run& run);
  /// Whether it is on one, or among what one is made of.
  bool is_of_a_mesh(std::uint32_t variable) const;

 private:
  void go_on();
  void resume();
  bool is_shown_as(const vtk::Mesh& mesh, const std::string& group) const;
  void for_each_mesh(const std::function<void(vtk::Mesh*)>& what);
  void leave_out_of_collections();
  void become_collection();
  void open(vtk::Mesh* mesh);
  std::string group_of(const leat_mesh& mesh) const;
  void head_of_collection() const;
  void list_in_assembly(const vtk::Mesh& mesh) const;
  void count_steps() const;

  vtk::Target target_;
  Host host_;
  bool is_collection_ = false, has_gone_on_ = false;
  std::vector<std::unique_ptr<vtk::Mesh>> meshes_;
  std::vector<vtk::Step> steps_;
  std::set<std::string> reported_;
};

// The group VTKHDF in a file that has all its rows already: a view of several servers' files, or what was
// merged of it. The same code makes it that adds row by row to the file of one server.

/// What is not shown, and why.
using NotShown = std::vector<std::string>;

/// Whether the group is to be there: the file says what its run is, and that has meshes. Throws
/// nothing.
bool is_for_vtk(hid_t file);

/// Makes the group in `file`. `values`: what the same variables are read from. A step is an
/// iteration in which something of a mesh was written. Never throws: what cannot be made is not
/// there, and all else in the file is as it was.
NotShown add_vtkhdf(hid_t file, hid_t values);

/// The same for a file that has virtual datasets, and is not open: values of those are fill values
/// in a file that is open for writing, as HDF5 would open their sources for writing too. So it is
/// replaced by a copy of it, in which the group is made.
/// `sources`: files of which it shows something, from its folder on. HDF5 says nothing when it
/// cannot open one of them for it, and shows fill values: then there is no group, and the reason is
/// returned.
NotShown add_vtkhdf(const std::string& path, const std::vector<std::string>& sources);

}  // namespace leat::hdf5
