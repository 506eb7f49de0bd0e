// SPDX-License-Identifier: Apache-2.0
// A variable as /VTKHDF sees it: which form its writer gave it, and where in it the blocks of an
// iteration are.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/vtkhdf/lists.hpp"

namespace leat::hdf5::vtk {

struct Field {
  enum class Form {
    whole,   ///< one array for each iteration, by GridWriter, or by BlocksWriter for a single block
    blocks,  ///< BlocksWriter: (block, dims...)
    ragged,  ///< RaggedWriter: elements one after the other
  };
  const leat_variable* variable = nullptr;
  Form form = Form::whole;
  bool varies = true;  ///< in time
  Shape shape;         ///< of one iteration in the file, of one block, or ragged: of one element

  std::string path() const { return variable->name; }
};

/// What variable `number` is called in VTK, as in the sidecar that `leat xdmf` makes: a link has no '/' in
/// its name.
std::string array_name(const leat_run& run, std::uint32_t number);
/// What a vector is called: behind all variables.
std::string array_name(const leat_run& run, const std::string& vector);

/// Why VTK has no array for values of its type; "" when it has.
std::string why_no_array(const leat_variable& variable);
/// Why VTK cannot show it, whatever it is written like; "" when it can.
std::string why_vtk_cannot(const leat_variable& variable);

/// The variable when it is in the file, which it is from its first block on.
std::optional<Field> field_in(const Target& target, std::uint32_t number);

/// "", or why a field of one array for each iteration is none of this shape any more.
std::string why_not_as_begun(const Target& target, const Field& field);
/// The same of several: of the first one that is not.
std::string why_not_as_begun(const Target& target, const std::vector<Field>& fields);

/// A <vector> of the XML, with two or three of the run's variables.
struct Vector {
  std::string name;
  std::vector<std::uint32_t> components;
};
/// Those whose components lie on the mesh. A part of the components is none.
std::vector<Vector> vectors_on(const leat_run& run, const leat_mesh& mesh);

std::vector<std::uint32_t> variables_on(const leat_run& run, const leat_mesh& mesh);
/// Variables of which a mesh is made; a uniform one of none.
std::vector<std::uint32_t> made_of(const leat_mesh& mesh);
/// Why a variable cannot be shown; "" when it can.
using WhyNot = std::function<std::string(const leat_variable&)>;
/// Whether the file has all that the mesh is made of. Throws when some of it cannot be shown.
bool is_whole(const Target& target, const leat_mesh& mesh, const WhyNot& why_not);
/// Coordinates of a mesh that is whole.
std::vector<Field> axes_of(const Target& target, const leat_mesh& mesh);
/// Whether all of them are floats of 32 bits.
bool are_single(const std::vector<Field>& axes);
/// Points in each dimension of a rectilinear or curvilinear mesh, as variables have them: z, y, x.
/// Throws when these axes are none of such a mesh.
Shape nodes_of(const leat_mesh& mesh, const std::vector<Field>& axes);

/// In which rows anything of a variable was written.
class WrittenRows {
 public:
  WrittenRows(const Target& target, const Field& field);
  bool at(hsize_t row);
  /// The last one up to `row` that is, 0 when there is none. To be asked in ascending order.
  hsize_t last_upto(hsize_t row);

 private:
  Target target_;
  std::string variable_;
  bool varies_;
  RowTable table_;  // none while it is in all
  hsize_t all_upto_ = 0, asked_ = 0, last_ = 0;
};

/// In which rows anything of several variables was written.
class RowsOfAny {
 public:
  void watch(const Target& target, const Field& field);
  bool at(hsize_t row);

 private:
  std::vector<WrittenRows> varying_;
  std::set<hsize_t> once_;  // in which what does not vary in time was written
};

/// The dataset as a list of elements, of one or more components each, over all iterations.
class Elements {
 public:
  /// Blocks of one iteration, which lie one after the other from element `first` on.
  struct Row {
    hsize_t first = 0;
    std::vector<hsize_t> counts;
    std::vector<std::pair<std::int64_t, std::int64_t>> owners;  ///< rank, number; none: any

    bool is_empty() const { return counts.empty(); }
    hsize_t total() const;
    /// Blocks of the same ranks and numbers, and of as many elements when `counts` is true.
    bool has_blocks_of(const Row& other) const;
    bool matches(const Row& other) const { return has_blocks_of(other) && counts == other.counts; }
  };

  Elements(const Target& target, Field field);
  /// Empty where nothing was written, or blocks do not fill their slots.
  Row at(hsize_t row);
  hsize_t components() const;
  /// To be shown in a list, from column `column` of that on.
  FlatSource source(hsize_t column = 0) const;
  const Field& field() const { return field_; }

 private:
  // A variable with a single block in each iteration gets a table when others come.
  void look_for_blocks();
  void open_records(const std::string& table);
  Row at_blocks(hsize_t row);
  hsize_t in_block() const { return field_.shape.empty() ? 1 : field_.shape[0]; }

  Target target_;
  Field field_;
  WrittenRows written_;
  std::shared_ptr<BlockRecords> records_;  // none of one array for each iteration
};

}  // namespace leat::hdf5::vtk
