// SPDX-License-Identifier: Apache-2.0
// Meshes with levels in /VTKHDF.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/vtkhdf/amr_boxes.hpp"
#include "server/plugins/hdf5/vtkhdf/mesh.hpp"

namespace leat::hdf5::vtk {
namespace {

// The cells of a variable on an amr mesh, as its levels are shown them in /VTKHDF.

/// Elements of a level in a step.
struct Run {
  hsize_t first = 0, count = 0;
};

/// A variable in one list of cells, the same one for all levels: itself, or a virtual dataset that has
/// it so, behind the values of boxes that stand in for patches, of which there may come more. It is
/// made anew when there are more cells: HDF5 1.10 ends with a crash where it reads what the source does
/// not have, and maps what grows in no other shape. Of a single step each level has its own part.
class CellList {
 public:
  CellList(const Target& target, const PatchValues& values, const AmrBoxes& boxes,
           const std::string& group, std::string name);

  /// Adds the value of a cell so many times to what stands in; returns where it is in that list.
  hsize_t add_stand_in(hsize_t element, hsize_t count);
  /// Of all that stands in, and of the list, in elements.
  hsize_t stood_in() const { return stand_ins_.exists() ? stand_ins_.extents()[0] : 0; }
  hsize_t first_of_data() const;

  /// Shows all, the variable itself from element `first` on.
  void show_all(hsize_t first);
  /// Whether it shows all that there is.
  bool is_current(hsize_t first) const;
  /// The same to levels that have come since.
  void link_levels() const;
  /// A level gets a part of its own: these elements; or one, so many times.
  void show_run(std::size_t level, const Run& run) const;
  void show_copies(std::size_t level, hsize_t element, hsize_t count) const;
  void remove() const;

 private:
  std::string name_at(std::size_t level) const {
    return boxes_.group_of(level) + "/CellData/" + name_;
  }
  std::string source() const { return values_.field().path(); }
  // Along the first dimension of the variable's dataset.
  hsize_t rows() const { return values_.extents()[0]; }
  hsize_t cells() const { return std::max<hsize_t>(1, product(values_.field().shape)); }
  Id type() const { return type_of(values_.field().variable->type); }
  Id made_of(const std::string& name, hsize_t elements, const std::vector<Shown>& parts) const;
  std::vector<std::uint8_t> copies(hsize_t element, hsize_t count) const;

  Target target_;
  const PatchValues& values_;
  const AmrBoxes& boxes_;
  std::string name_, stand_ins_name_;
  Dataset stand_ins_;
};

constexpr const char* kFirstOfData = "leat_first";

CellList::CellList(const Target& target, const PatchValues& values, const AmrBoxes& boxes,
                   const std::string& group, std::string name)
    : target_(target),
      values_(values),
      boxes_(boxes),
      name_(std::move(name)),
      stand_ins_name_(group + "/Steps/leat_stand_ins/" + name_) {
  if (is_in(target_.file, stand_ins_name_)) stand_ins_ = Dataset(target_.file, stand_ins_name_);
}

hsize_t CellList::first_of_data() const {
  if (!is_in(target_.file, name_at(0))) return 0;
  return static_cast<hsize_t>(
      integer_attribute(open_dataset(target_.file, name_at(0)), kFirstOfData, 0));
}

bool CellList::is_current(hsize_t first) const {
  if (!is_in(target_.file, name_at(0))) return false;
  const Id shown = open_dataset(target_.file, name_at(0));
  return address_of(shown) == address_of(open_dataset(target_.file, source())) ||
         extents_of(shown)[0] == first + rows() * cells();
}

// What is new is made before: where there is no room for that, the old one stays.
void CellList::show_all(hsize_t first) {
  if (values_.is_list() && first == 0) {
    remove();
    return link_hard(target_.file, source(), name_at(0));
  }
  const hsize_t count = rows() * cells(), behind = stood_in();
  std::vector<Shown> parts{{source(), joined(rows(), values_.field().shape), {first}, {count}}};
  if (behind > 0) parts.push_back({stand_ins_name_, {behind}, {0}, {behind}});
  const Id made = made_of(name_at(0), first + count, parts);
  set_attribute(made, kFirstOfData, static_cast<std::int64_t>(first));
  remove();
  give_name(made, target_.file, name_at(0));
}

void CellList::link_levels() const {
  for (std::size_t level = 1; level < boxes_.levels(); ++level) {
    if (!is_in(target_.file, name_at(level))) link_hard(target_.file, name_at(0), name_at(level));
  }
}

void CellList::show_run(std::size_t level, const Run& run) const {
  const Shape& shape = values_.field().shape;
  const Id made = made_of(name_at(level), run.count,
                          {{source(),
                            joined((run.first + run.count) / cells(), shape),
                            {0},
                            {run.count},
                            joined(run.first / cells(), zeros(shape))}});
  give_name(made, target_.file, name_at(level));
}

void CellList::show_copies(std::size_t level, hsize_t element, hsize_t count) const {
  Dataset alone(target_.file, name_at(level), type(), {{count}, {false}, {}, {}, {}});
  if (count > 0) alone.write({0}, {count}, copies(element, count).data());
}

void CellList::remove() const {
  for (std::size_t level = 0; level < boxes_.levels(); ++level) {
    const std::string at = name_at(level);
    if (is_in(target_.file, at))
      check(H5Ldelete(target_.file, at.c_str(), H5P_DEFAULT), "cannot remove " + at);
  }
}

hsize_t CellList::add_stand_in(hsize_t element, hsize_t count) {
  if (!stand_ins_.exists())
    stand_ins_ = Dataset(target_.file, stand_ins_name_, type(), growing_list(0, kStepsAtOnce));
  const hsize_t first = stood_in();
  stand_ins_.grow_to({first + count});
  stand_ins_.write({first}, {count}, copies(element, count).data());
  return first;
}

Id CellList::made_of(const std::string& name, hsize_t elements,
                     const std::vector<Shown>& parts) const {
  return virtual_dataset(target_.file, name, type(), {elements}, parts,
                         fill_value(values_.field().variable->type));
}

// Of the first cell of a block.
std::vector<std::uint8_t> CellList::copies(hsize_t element, hsize_t count) const {
  const Shape& shape = values_.field().shape;
  const std::size_t bytes = H5Tget_size(type());
  std::vector<std::uint8_t> all(count * bytes);
  read_part(open_dataset(target_.values, source()), type(), joined(element / cells(), zeros(shape)),
            joined(1, Shape(shape.size(), 1)), all.data(), "cannot read " + source());
  for (std::size_t i = bytes; i < all.size(); ++i) all[i] = all[i - bytes];
  return all;
}

// Meshes with levels, as the OverlappingAMR of VTKHDF 2.2, which VTK 9.4 and newer read. The blocks of
// a level in an iteration lie one behind the other in their dataset, so that all levels have the same
// arrays and boxes, by hard links, and each step says where in them a level begins. An array has all
// cells of all patches: a variable that cannot have them is not shown.

constexpr hsize_t kFewStandIns = 64;  // elements

class PatchArray : public Array {
 public:
  PatchArray(const Target& target, const Field& field, const AmrBoxes& boxes,
             const std::string& group, const std::string& name)
      : file_(target.file),
        values_(target, field),
        boxes_(boxes),
        name_(name),
        list_(target, values_, boxes, group, name) {}

  std::string why_invalid(const std::vector<Step>& steps, hsize_t first) override {
    if (!values_.fills_places())
      return "its blocks have different sizes: give it a layout with \"?\" for its extents";
    for (hsize_t step = first; step < steps.size(); ++step) {
      if (!runs_at(step, steps[step].row))
        return "in step " + std::to_string(step) + " it has not all blocks of its mesh, or others";
    }
    return "";
  }

  std::optional<hsize_t> place(hsize_t) override { return std::nullopt; }  // put_offsets() has them

  void link(const std::string&, const std::vector<Step>& steps) override {
    const std::string why = why_invalid(steps, 0);
    if (!why.empty()) throw std::runtime_error(why);
  }

  bool put_offsets(const std::vector<Step>& steps, hsize_t first) override {
    while (offsets_.size() < boxes_.levels())
      offsets_.emplace_back(file_, boxes_.steps_of(offsets_.size()) + "/CellDataOffset/" + name_);
    const bool was_alone = first < 2;
    if (was_alone) list_.remove();
    if (steps.size() == 1)
      show_parts(steps.front().row);
    else
      put_runs(steps, was_alone ? 0 : first);
    for (List& offsets : offsets_) {
      offsets.grow_to(steps.size());
      offsets.flush();
    }
    return true;
  }

  void remove() override { list_.remove(); }

 private:
  struct Place {
    std::size_t level;
    hsize_t step, at;
    bool is_stand_in;  // `at` is in the list of those
  };

  // For each level; none when the variable has not just the cells of all patches.
  std::optional<std::vector<Run>> runs_at(hsize_t step, hsize_t row) {
    const std::vector<Patch> patches = boxes_.at(step);
    const std::vector<PatchValues::Block> blocks = values_.at(row);
    if (patches.size() != blocks.size()) return std::nullopt;
    std::vector<Run> runs(boxes_.levels());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (patches[i].extents != blocks[i].extents) return std::nullopt;
      Run& run = runs[patches[i].level];
      if (run.count == 0) run.first = blocks[i].first;
      run.count += product(blocks[i].extents);
    }
    return runs;
  }

  // The cell that the boxes of a step stand in for is the first one of the level before them that has
  // patches, or of all.
  static hsize_t stood_for(const std::vector<Run>& runs, std::size_t level) {
    for (std::size_t i = level; i-- > 0;) {
      if (runs[i].count > 0) return runs[i].first;
    }
    while (level + 1 < runs.size() && runs[level].count == 0) ++level;
    return runs[level].first;
  }

  // Where the levels of steps begin of which nothing is said yet; adds what stands in.
  std::vector<Place> new_places(const std::vector<Step>& steps, hsize_t first) {
    std::vector<hsize_t> from;  // step that each level needs next
    for (const List& offsets : offsets_) from.push_back(std::min(offsets.length(), first));
    std::vector<Place> places;
    for (hsize_t step = *std::min_element(from.begin(), from.end()); step < steps.size(); ++step) {
      const auto runs = runs_at(step, steps[step].row);
      for (std::size_t level = 0; runs && level < offsets_.size(); ++level) {
        if (step < from[level]) continue;
        Place place{level, step, (*runs)[level].first, boxes_.stands_in(step, level)};
        if (place.is_stand_in)
          place.at =
              list_.add_stand_in(stood_for(*runs, level), boxes_.cells_of_stand_in(step, level));
        places.push_back(place);
      }
    }
    return places;
  }

  void put_runs(const std::vector<Step>& steps, hsize_t first) {
    const hsize_t before = list_.first_of_data(), stood_before = list_.stood_in();
    const std::vector<Place> places = new_places(steps, first);
    const hsize_t stood_in = list_.stood_in();
    const hsize_t begin = stood_in <= before ? before : 2 * std::max(kFewStandIns, stood_in);
    if (begin != before) move_data(begin - before);
    for (const Place& place : places) {
      const hsize_t at = place.at + (place.is_stand_in ? 0 : begin);
      offsets_[place.level].put(place.step, static_cast<std::int64_t>(at));
    }
    if (stood_in > stood_before || !list_.is_current(begin)) list_.show_all(begin);
    list_.link_levels();
  }

  void move_data(hsize_t by) {
    for (std::size_t level = 0; level < offsets_.size(); ++level) {
      List& offsets = offsets_[level];
      if (offsets.length() == 0) continue;
      std::vector<std::int64_t> all = offsets.all();
      for (hsize_t step = 0; step < all.size(); ++step) {
        if (!boxes_.stands_in(step, level)) all[step] += static_cast<std::int64_t>(by);
      }
      offsets.put(0, all);
    }
  }

  // Of a single step.
  void show_parts(hsize_t row) {
    const auto runs = runs_at(0, row);
    for (std::size_t level = 0; runs && level < boxes_.levels(); ++level) {
      if ((*runs)[level].count > 0)
        list_.show_run(level, (*runs)[level]);
      else
        list_.show_copies(level, stood_for(*runs, level),
                          boxes_.stands_in(0, level) ? boxes_.cells_of_stand_in(0, level) : 0);
    }
  }

  hid_t file_;
  PatchValues values_;
  const AmrBoxes& boxes_;
  std::string name_;
  CellList list_;
  std::vector<List> offsets_;  // by level
};

class AmrMesh : public Mesh {
 public:
  AmrMesh(const Target& target, const Host& host, std::uint32_t number)
      : Mesh(target, host, number), patches_(target, mesh_) {}

  bool is_ready() override { return has_place(mesh_) && patches_.is_there(); }

 protected:
  const char* type() const override { return "OverlappingAMR"; }

  void make_head() override {
    const Id object = group_at(target_.file, group());
    // 2.3 calls what is in Steps otherwise; VTK 9.4 does not know those names, newer ones know both.
    set_attribute(object, "Version", std::vector<std::int64_t>{2, 2});
    put_text(object, "GridDescription", "XYZ");
    set_attribute(object, "Origin", in_space(mesh_.origin, 0));
    boxes_.emplace(target_.file, group(), mesh_);
    steps_ = boxes_->steps();
  }

  void put_step(hsize_t step, hsize_t row) override {
    const std::vector<Patch> patches = patches_.at(row);
    const std::size_t levels = patches.empty() ? 1 : patches.back().level + 1;
    boxes_->expect_room(std::max(levels, boxes_->levels()), patches);
    while (boxes_->levels() < levels) {
      boxes_->add_level();
      set_spacing(boxes_->levels() - 1);
    }
    boxes_->put(step, patches);
    steps_ = step + 1;
  }

  void flush() override { boxes_->show(steps_); }

  std::unique_ptr<Array> array_for(const std::vector<Field>& fields, std::string* group) override {
    if (fields.size() > 1) throw std::runtime_error("on amr meshes its components are shown alone");
    const Field& field = fields.front();
    *group = "Level0/CellData";
    const auto number = leat_variable_number(&target_.run, field.variable);
    return std::make_unique<PatchArray>(
        target_, field, *boxes_, this->group(),
        array_name(target_.run, static_cast<std::uint32_t>(number)));
  }

 private:
  std::vector<double> in_space(const double (&axes)[3], double otherwise) const {
    std::vector<double> all(3, otherwise);
    std::copy(axes, axes + mesh_.dims, all.begin());
    return all;
  }

  // Along an axis that the mesh has not, patches are one cell thick. There VTK does not hide cells under
  // finer ones, so finer patches are a little thicker, and are seen from above.
  void set_spacing(std::size_t level) {
    const auto number = static_cast<double>(level);
    std::vector<double> spacing = in_space(mesh_.spacing, mesh_.spacing[0] * (1 + number / 64));
    for (std::size_t axis = 0; axis < mesh_.dims; ++axis)
      spacing[axis] /= std::pow(mesh_.ratio, number);
    set_attribute(group_at(target_.file, boxes_->group_of(level)), "Spacing", spacing);
  }

  Patches patches_;
  std::optional<AmrBoxes> boxes_;
  hsize_t steps_ = 0;
};

}  // namespace

std::unique_ptr<Mesh> make_amr_mesh(const Target& target, const Host& host, std::uint32_t number) {
  return std::make_unique<AmrMesh>(target, host, number);
}

}  // namespace leat::hdf5::vtk
