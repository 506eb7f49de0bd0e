// SPDX-License-Identifier: Apache-2.0
// One mesh of the run in /VTKHDF: its group, its steps, and the variables on it as arrays.
//
//   ImageMesh    uniform                     ImageData: the datasets themselves, by hard links
//   GridMesh     rectilinear, curvilinear    UnstructuredGrid: cells made once, arrays are virtual
//   CellsMesh    unstructured                UnstructuredGrid: a part for each block
//   PointsMesh   points                      PolyData: a vertex for each point
//   AmrMesh      amr                         OverlappingAMR: the datasets as lists of cells
//
// Whether a mesh can be shown, and from when on, is seen in the file: from the iteration on that
// has all it is made of. It then gets all steps there were so far, so that all meshes of a file
// have the same ones. What is there already, from a writer before this one, is gone on with.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/vtkhdf/field.hpp"

namespace leat::hdf5::vtk {

/// An iteration in which something of a mesh was written.
struct Step {
  hsize_t row;
  double time;
};

/// A variable as VTK array.
class Array {
 public:
  virtual ~Array() = default;
  /// Whether it has values that fit the mesh in this row. It becomes known to VTK with the first.
  virtual bool is_at(hsize_t) { return true; }
  /// Where VTK finds the values of row `row`, counted from begin(); none: there are none, it takes
  /// those in front of that.
  virtual std::optional<hsize_t> place(hsize_t row) = 0;
  /// Has the array show all that place() was asked for. True when begin() has changed by it.
  virtual bool show(const std::string& /*path*/) { return false; }
  virtual hsize_t begin() const { return 0; }
  /// No more rows come.
  virtual void finish(const std::string& /*path*/) {}
  /// Whether VTK takes the number of the step for the offset where none is said.
  virtual bool is_indexed_by_step() const { return false; }
  /// Makes the array, which is for VTK to see when the mesh has as many steps; or show() does.
  virtual void link(const std::string& /*path*/, const std::vector<Step>& /*steps*/) {}
  /// Why VTK cannot be shown it any more, of which the steps from number `first` on are new: it is
  /// stored in another form by now, or does not fit the mesh. "" when it can.
  virtual std::string why_invalid(const std::vector<Step>& /*steps*/, hsize_t /*first*/) {
    return "";
  }
  /// Writes the offsets of the steps from number `first` on, when it has more than one for each.
  virtual bool put_offsets(const std::vector<Step>& /*steps*/, hsize_t /*first*/) { return false; }
  /// It is not to be seen any more, by names that only the array knows.
  virtual void remove() {}
  /// A second step has come.
  virtual void show_time(const std::string& /*path*/) {}
};

/// Where in the lists of a mesh its steps begin.
class StepOffsets {
 public:
  struct Begin {
    std::int64_t parts = 1;  ///< of the step
    hsize_t part = 0, point = 0, cell = 0, id = 0;
  };
  StepOffsets() = default;
  /// In the group `steps`. `kinds`: of cells, each of which has offsets of its own.
  StepOffsets(hid_t file, const std::string& steps, hsize_t kinds);
  void put(hsize_t step, const Begin& begin);
  void flush();
  /// Of all steps, as they are in the file: parts, and the first part and cell.
  std::vector<Begin> all() const;

 private:
  List parts_, part_, point_, cell_, id_;
};

class Mesh {
 public:
  Mesh(const Target& target, const Host& host, std::uint32_t number);
  virtual ~Mesh() = default;

  /// Whether it can be made. Throws when it never can.
  virtual bool is_ready() { return is_whole(target_, mesh_, why_vtk_cannot); }
  /// Makes the group, or goes on with what is there.
  void open(const std::string& group);
  bool is_open() const { return !group_.empty(); }
  /// Its group has got this name.
  void move_to(const std::string& group);
  const std::string& group() const { return group_; }
  /// Brings it to these steps, of which it may have the first ones.
  void add(const std::vector<Step>& steps);
  /// No more steps come: what it shows gets the size of what that is made of.
  void finish();
  /// Those that are in the file.
  std::vector<Step> steps() const;
  const leat_mesh& described() const { return mesh_; }

 protected:
  virtual const char* type() const = 0;
  /// What is made once.
  virtual void make_head() = 0;
  virtual void put_step(hsize_t step, hsize_t row) = 0;
  /// Writes what put_step() puts, but for offsets_.
  virtual void flush() {}
  /// What it has of the variables it is made of, by its name.
  virtual std::vector<std::pair<const char*, FlatList*>> shown() { return {}; }
  /// Of one variable, or of the components of a vector. `group`: gets PointData or CellData. Throws when it does not fit.
  virtual std::unique_ptr<Array> array_for(const std::vector<Field>& fields,
                                           std::string* group) = 0;

  /// Of what is there.
  Field field_of(std::int32_t variable) const {
    return field_in(target_, static_cast<std::uint32_t>(variable)).value();
  }
  std::string path(const std::string& name) const { return group_ + "/" + name; }
  std::string steps_path(const std::string& name) const { return group_ + "/Steps/" + name; }
  bool is_new() const { return count_ == 0; }
  void say(const std::string& text) const;

  Target target_;
  Host host_;
  const leat_mesh& mesh_;
  StepOffsets offsets_;

 private:
  struct Known {
    std::unique_ptr<Array> array;
    std::string path, offsets_path;
    List offsets;  // none while they would be the numbers of the steps
  };

  void show_array(std::uint32_t number, const std::vector<Field>& fields,
                  const std::vector<Step>& steps);
  bool take(std::uint32_t number, const std::vector<Step>& steps);
  bool is_vector(std::uint32_t number) const { return number >= target_.run.variable_count; }
  const Vector& vector(std::uint32_t number) const {
    return vectors_[number - target_.run.variable_count];
  }
  std::vector<std::uint32_t> parts_of(std::uint32_t number) const;
  std::string name_of(std::uint32_t number) const;
  void drop_invalid(const std::vector<Step>& steps);
  void put_offsets(Known* known, const std::vector<Step>& steps) const;
  void put_values(const std::vector<Step>& steps);

  std::string group_;
  hsize_t count_ = 0;    // steps in the file
  hsize_t in_step_ = 0;  // the first ones whose rows have their numbers
  // Arrays are known by the numbers of their variables; those of vectors come behind.
  std::vector<Vector> vectors_;
  std::vector<std::uint32_t> waiting_;
  std::map<std::uint32_t, Known> known_;
  List rows_;
  Dataset values_;
};

using MakeMesh = std::unique_ptr<Mesh>(const Target& target, const Host& host,
                                       std::uint32_t number);
MakeMesh make_image_mesh, make_grid_mesh, make_cells_mesh, make_points_mesh, make_amr_mesh;

/// Components of a VTK array of one variable: 1. A vector has three; the third of two is 0.
inline constexpr hsize_t kOfVector = 3;
/// What stands where a variable, or a component of a vector, was not written.
std::vector<std::uint8_t> fill_of(const std::vector<Field>& fields);

/// Array of the elements of blocks: what was not written, or not for all points or cells of an
/// iteration, is shown as fill values.
class ElementArray : public Array {
 public:
  /// Blocks that the mesh has in a row.
  using Wanted = Elements::Row (*)(void* mesh, hsize_t row);
  ElementArray(const Target& target, const std::vector<Field>& fields, Wanted wanted, void* mesh);
  bool is_at(hsize_t row) override;
  std::optional<hsize_t> place(hsize_t row) override;
  /// Of a vector: its components lie beside each other only as long as all have the same elements in each iteration.
  std::string why_invalid(const std::vector<Step>& steps, hsize_t first) override;
  bool show(const std::string& path) override { return list_.show(path); }
  hsize_t begin() const override { return list_.begin(); }
  void finish(const std::string& path) override { list_.finish(path); }

 private:
  std::vector<Elements> elements_;  // of each component
  FlatList list_;
  Wanted wanted_;
  void* mesh_;
};

/// Point coordinates of blocks as one list of (x, y, z), without a copy.
FlatList list_of_points(const Target& target, const std::vector<Elements>& coordinates);
/// Their blocks in a row, none when the coordinates do not fit each other.
Elements::Row blocks_of(std::vector<Elements>* coordinates, hsize_t row);

}  // namespace leat::hdf5::vtk
