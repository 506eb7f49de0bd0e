// SPDX-License-Identifier: Apache-2.0
// Where values lie in space and time, in the form of the CF conventions: axes of meshes, the attribute "coordinates",
// the time.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"

namespace leat::hdf5 {

class DimensionScales;
struct Target;

// Coordinates of meshes in the form of the CF conventions, so that xarray shows data by place.
// Source: CF Conventions 1.8, chapter 5, "Coordinate Systems and Domain".

/// Places along one dimension: first + i * step; or the middles of the cells between `nodes`.
struct AxisValues {
  double first = 0, step = 0;
  std::string unit;
  unsigned axis = 0;           ///< 0, 1, 2 for x, y, z
  std::optional<double> edge;  ///< of cells that begin at edge + i * step
  std::vector<double> nodes;   ///< of a rectilinear mesh; then those three count for nothing
  std::string standard_name;
  std::string of;  ///< the variable that the nodes are of

  bool operator==(const AxisValues&) const = default;
  std::vector<double> values(hsize_t count) const;
  bool has_bounds() const { return edge || !nodes.empty(); }
  /// Begin and end of each cell, one cell after the other.
  std::vector<double> bounds(hsize_t count) const;
};

/// enum leat_centering, of the values along dimension `d` on a uniform mesh.
std::uint32_t centering_along(const leat_variable& variable, unsigned d);

/// False of a uniform or amr mesh whose place the simulation has yet to say.
bool has_place(const leat_mesh& mesh);
std::size_t meshes_without_place(const leat_run& run);
/// Meshes of one name and kind that have a place in both runs, and not the same.
std::vector<std::pair<const leat_mesh*, const leat_mesh*>> meshes_elsewhere(const leat_run& a,
                                                                            const leat_run& b);

/// Where the values of a variable lie along its dimension `d`, when it is on a uniform mesh: nodes,
/// or the centres between them. None where that is not known. `centering`: enum leat_centering.
std::optional<AxisValues> uniform_axis(const leat_run& run, const leat_variable& variable,
                                       unsigned d, std::uint32_t centering);

/// The variable that alone has the coordinates along dimension `d` of a variable on a rectilinear mesh, and does not vary in time; null for none.
const leat_variable* rectilinear_coordinate(const leat_run& run, const leat_variable& variable,
                                            unsigned d);
/// Where `cells` values lie along that dimension, when these are the values of that coordinate: between each two of them. None when there is not
/// one more of them, or some are not known.
std::optional<AxisValues> between_nodes(const leat_run& run, const leat_variable& variable,
                                        unsigned d, std::vector<double> nodes, hsize_t cells);

/// Whether the extent of a dimension, from number `first` on, may be another in each block.
bool varies_in_shape(const leat_variable& variable, unsigned first = 0);

/// Whether a variable gives the coordinates of the dimension that is called like it: written once,
/// of one dimension of its own name, and not in a group. It is that dimension's scale then.
bool is_coordinate_variable(const leat_variable& variable);

/// The attribute `axis` of places along 0, 1, 2 for x, y, z: "X", "Y", and "" for z. An axis "Z" of
/// CF must say what is up, which nobody has said. Source: CF Conventions 1.8, section 4.3.
std::string cf_axis(unsigned axis);

/// cf_axis() for a variable that alone has the coordinates along that axis of a rectilinear
/// mesh, else "".
std::string axis_of(const leat_run& run, const leat_variable& variable);

/// Names of the variables, as seen from `variable`, that say where its values lie and are not
/// coordinate variables: each has some of its dimensions.
std::vector<std::string> mesh_coordinates(const leat_run& run, const leat_variable& variable);

/// What the mesh says of the dimensions of a global array, kept in the parts for their view: an
/// attribute "leat_axis_<d>" for each, {first, step, axis}, with the edge behind where it has one, and "leat_axis_units".
void note_axis(hid_t dataset, unsigned dimension, const AxisValues& axis);
std::optional<AxisValues> noted_axis(hid_t dataset, unsigned dimension);
/// From what has been copied with all other attributes.
void remove_noted_axes(hid_t dataset);

// Which coordinates belong to a dataset, beside those that its dimensions are named by: what is in
// its attribute `coordinates`. Source: CF Conventions 1.8, chapter 5, "Coordinate Systems", and
// section 2.7.1, "Scope".

/// Of the values of a variable, in a dataset that has an iteration dimension or none; "" for none.
std::string coordinates_of(const Target& target, const leat_variable& variable, bool with_rows);
/// Of a variable called `name` whose blocks are those of a table, which has these coordinates.
std::string coordinates_of_blocks(const std::vector<std::string>& of_table,
                                  const std::string& name);
/// Of a table called `name` with a row for each iteration; `time` as in Place.
std::string coordinates_of_rows(const std::string& time, const std::string& name);
/// Writes the attribute, unless `coordinates` is "".
void set_coordinates(const Dataset& dataset, const std::string& coordinates);

// The time of the simulation at the end of each iteration: "time", the parameter that <time> names
// in the XML. When it has a value in the first row the rows are called after it: "time" (time) is
// their coordinate variable, and "iteration" (time) a coordinate beside it. Else rows are called
// "iteration", and a time that comes later is the coordinate beside: "time" (iteration). As long as
// it never had a value there is no "time": readers count iterations then.
//
// Where the parameter has no value is NaN, and the same time may come twice: what a simulation says
// is kept, though CF wants neither of a coordinate variable; "iteration" tells rows apart. Source:
// CF Conventions 1.8, section 2.5.1, "Missing data", and chapter 5.

/// Of the bounds of rows that are periods, behind the name of their scale.
inline constexpr const char* kBoundsSuffix = "_bnds";

/// That of an iteration; NaN where the simulation has said none.
double time_of(const leat_run& run, const leat_iteration_data& data);

class TimeAxis {
 public:
  /// Goes on with what is in the file. Nothing is made before there is a row.
  TimeAxis(hid_t file, const leat_run& run, DimensionScales& scales);
  /// The coordinate beside the one that rows are called after; "" for none. The same object as long
  /// as this lives.
  const std::string& beside() const { return beside_; }
  /// Before the datasets of an iteration are made. With the first row it is decided what rows are
  /// called after; with a time that comes later it is named by all that is there and has rows.
  void expect(const leat_iteration_data& data);
  void write(hsize_t row, const leat_iteration_data& data);

 private:
  Dataset opened(const std::string& name, bool of_periods = false) const;
  void name_rows(const leat_iteration_data& data);
  void make_beside();
  void open_bounds();

  hid_t file_;
  const leat_run& run_;
  DimensionScales& scales_;
  Dataset times_, bounds_;
  std::string beside_;
};

}  // namespace leat::hdf5
