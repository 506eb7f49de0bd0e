// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/cell_list.hpp"

#include <algorithm>

namespace leat::hdf5::vtk {
namespace {

constexpr const char* kFirstOfData = "leat_first";

}  // namespace

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

}  // namespace leat::hdf5::vtk
