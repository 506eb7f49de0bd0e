// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/flat_list.hpp"

#include <algorithm>
#include <utility>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5::vtk {
namespace {

// Where the part of a virtual dataset begins that its first source is shown in.
hsize_t begin_of_first_source(hid_t dataset, const std::string& path) {
  const std::string what = "cannot read what " + path + " shows";
  const Id creation(H5Dget_create_plist(dataset), what);
  const Id space(H5Pget_virtual_vspace(creation, 0), what);
  Shape first(static_cast<std::size_t>(check(H5Sget_simple_extent_ndims(space), what)));
  Shape last = first;
  check(H5Sget_select_bounds(space, first.data(), last.data()), what);
  return first[0];
}

}  // namespace

FlatList::FlatList(const Target& target, std::vector<FlatSource> sources, std::uint32_t type,
                   hsize_t columns, std::vector<std::uint8_t> fill)
    : target_(target),
      sources_(std::move(sources)),
      type_(type),
      columns_(columns),
      fill_(std::move(fill)) {}

void FlatList::need(hsize_t elements) {
  const hsize_t in_row = std::max<hsize_t>(1, sources_.front().elements);
  rows_needed_ = std::max(rows_needed_, (elements + in_row - 1) / in_row);
}

void FlatList::need_in_front(hsize_t elements) {
  front_needed_ = std::max(front_needed_, elements);
}

bool FlatList::show(const std::string& path) {
  take_up(path);
  const bool moves = front_needed_ > front_;
  if ((is_linked_ || rows_needed_ <= rows_) && !moves) return false;
  const FlatSource& first = sources_.front();
  const hsize_t in_row = first.elements * std::max<hsize_t>(1, columns_) * fill_value(type_).size();
  const bool has_grown = is_linked_ || (rows_ > 0 && rows_needed_ > rows_);  // else it may be all
  const hsize_t room =
      has_grown ? std::min(rows_needed_, kMostRoom / std::max<hsize_t>(1, in_row)) : 0;
  replace(path, std::max(rows_, rows_needed_ + room),
          moves ? std::max(front_needed_, 2 * front_) : front_);
  return moves;
}

void FlatList::finish(const std::string& path) {
  take_up(path);
  const hsize_t rows = std::max(rows_needed_, rows_of_sources());
  if (!is_linked_ && rows != rows_) replace(path, rows, front_);
}

void FlatList::take_up(const std::string& path) {
  if (std::exchange(is_known_, true) || !is_in(target_.file, path)) return;
  const Id dataset = open_dataset(target_.file, path);
  is_linked_ = address_of(dataset) == address_of(open_dataset(target_.file, sources_.front().name));
  if (is_linked_) return;
  front_ = begin_of_first_source(dataset, path);
  rows_ = (extents_of(dataset)[0] - front_) / std::max<hsize_t>(1, sources_.front().elements);
}

// An empty one VTK does not read.
bool FlatList::is_list_already() const {
  const FlatSource& source = sources_.front();
  const Shape row = columns_ > 0 ? Shape{columns_} : Shape{};
  if (sources_.size() > 1 || !source.has_rows || source.elements != 1 || source.row != row)
    return false;
  const Id dataset = open_dataset(target_.values, source.name);
  const std::string what = "cannot read the type of " + source.name;
  const Id type(H5Dget_type(dataset), what);
  return extents_of(dataset)[0] > 0 && check(H5Tequal(type, type_of(type_)), what) > 0;
}

void FlatList::replace(const std::string& path, hsize_t rows, hsize_t front) {
  is_linked_ = front == 0 && is_list_already();
  if (is_linked_)
    return give_name(open_dataset(target_.file, sources_.front().name), target_.file, path);
  Shape extents{front + rows * sources_.front().elements};
  if (columns_ > 0) extents.push_back(columns_);
  std::vector<Shown> parts;
  for (const FlatSource& source : sources_) {
    const hsize_t shown = source.has_rows ? rows : 1;
    Shown part{source.name,
               source.has_rows ? joined(rows, source.row) : source.row,
               {front},
               {shown * source.elements}};
    if (columns_ > 0) {
      part.start.push_back(source.column);
      part.count.push_back(source.components);
    }
    parts.push_back(std::move(part));
  }
  give_name(virtual_dataset(target_.file, path, type_of(type_), extents, parts, fill_),
            target_.file, path);
  rows_ = rows;
  front_ = front;
}

hsize_t FlatList::rows_of_sources() const {
  hsize_t rows = 1;
  for (const FlatSource& source : sources_) {
    if (source.has_rows) rows = std::max(rows, extents_in(target_.values, source.name)[0]);
  }
  return rows;
}

}  // namespace leat::hdf5::vtk
