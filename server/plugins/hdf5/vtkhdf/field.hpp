// SPDX-License-Identifier: Apache-2.0
// A variable as /VTKHDF sees it: which form its writer gave it, and where in it the blocks of an
// iteration are.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/plugins/hdf5/vtkhdf/tools.hpp"
#include "server/plugins/hdf5/writer.hpp"

namespace leat::hdf5::vtk {

struct Field {
  enum class Form {
    whole,   ///< one array for each iteration, by GridWriter, or by SlotWriter for a single block
    slots,   ///< SlotWriter: (slot, dims...)
    ragged,  ///< RaggedWriter: elements one after the other
  };
  const leat_variable* variable = nullptr;
  Form form = Form::whole;
  bool varies = true;  ///< in time
  Shape shape;         ///< of one iteration in the file; ragged: of one element

  std::string path() const { return variable->name; }
};

/// Why VTK cannot show it, whatever it is written like; "" when it can.
std::string why_vtk_cannot(const leat_variable& variable);

/// The variable when it is in the file, which it is from its first block on.
std::optional<Field> field_in(const Place& place, std::uint32_t number);

/// Whether anything of it was written in row `row`.
bool is_written(const Place& place, const Field& field, hsize_t row);

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

  Elements(const Place& place, Field field);
  /// Empty where nothing was written, or blocks do not fill their slots.
  Row at(hsize_t row);
  hsize_t components() const;
  /// Elements that a virtual dataset shows at most.
  hsize_t most() const;
  /// All of them, as `source` of a virtual dataset.
  Shown shown(const Shape& start, const Shape& count) const;
  const Field& field() const { return field_; }

 private:
  std::vector<std::int64_t> table(const char* suffix, hsize_t row) const;
  bool has_table(const char* suffix) const;
  std::string table_name(const char* suffix) const;
  Row at_ragged(hsize_t row);
  Row at_slots(hsize_t row) const;
  bool slots_are_full(hsize_t row, std::size_t used) const;

  Place place_;
  Field field_;
  std::vector<hsize_t> starts_;  // of the rows asked for so far, and of the next: ragged
};

}  // namespace leat::hdf5::vtk
