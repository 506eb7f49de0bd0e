// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/lists.hpp"

#include <algorithm>
#include <utility>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5::vtk {
namespace {

constexpr std::size_t kMostWaiting = 8192;

Id selected(const Shape& extents, const Shape& start, const Shape& count) {
  const char what[] = "selecting a part of a virtual dataset";
  Id space = space_of(extents);
  const Shape once(extents.size(), 1);
  check(
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, once.data(), count.data()),
      what);
  return space;
}

}  // namespace

Id group_at(hid_t file, const std::string& path) {
  const std::string what = "cannot make the group " + path;
  if (is_in(file, path)) return Id(H5Gopen2(file, path.c_str(), H5P_DEFAULT), what);
  return Id(H5Gcreate2(file, path.c_str(), link_creation(), group_creation(), H5P_DEFAULT), what);
}

void put_text(hid_t object, const char* name, const std::string& text) {
  const std::string what = std::string("cannot write the attribute ") + name;
  if (has_attribute(object, name)) return;
  const Id type(H5Tcopy(H5T_C_S1), what);
  check(H5Tset_size(type, std::max<std::size_t>(1, text.size())), what);
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), what);
  const Id attribute(H5Acreate2(object, name, type, space_of({}), H5P_DEFAULT, H5P_DEFAULT), what);
  check(H5Awrite(attribute, type, text.c_str()), what);
}

List::List(hid_t file, const std::string& name, hsize_t columns, hsize_t chunk)
    : columns_(columns) {
  DatasetPlan plan = growing_list(0, chunk);
  if (columns > 0) {
    plan.extents = {0, columns};
    plan.grows = {true, false};
    plan.chunk = {chunk, columns};
  }
  data_ = Dataset(file, name, H5T_NATIVE_INT64, plan);
  length_ = data_.extents()[0];
}

void List::grow_to(hsize_t length) { length_ = std::max(length_, length); }

void List::put(hsize_t at, std::int64_t value) {
  if (!waiting_.empty() && at != first_waiting_ + waiting_.size()) flush();
  if (waiting_.empty()) first_waiting_ = at;
  waiting_.push_back(value);
  grow_to(at + 1);
  if (waiting_.size() == kMostWaiting) flush();
}

void List::put(hsize_t at, const std::vector<std::int64_t>& values) {
  flush();
  grow_to(at + values.size());
  write(at, values);
}

void List::flush() {
  if (!exists()) return;
  write(first_waiting_, waiting_);
  waiting_.clear();
}

void List::write(hsize_t at, const std::vector<std::int64_t>& values) {
  data_.grow_to(columns_ > 0 ? Shape{length_, columns_} : Shape{length_});
  if (columns_ == 0) return data_.write({at}, {values.size()}, values.data());
  std::vector<std::int64_t> rows;
  for (const std::int64_t value : values) rows.insert(rows.end(), columns_, value);
  data_.write({at, 0}, {values.size(), columns_}, rows.data());
}

std::vector<std::int64_t> List::all() const {
  std::vector<std::int64_t> values(product(data_.extents()));
  data_.read(zeros(data_.extents()), data_.extents(), values.data());
  return values;
}

Id virtual_dataset(hid_t file, const std::string& name, hid_t type, const Shape& extents,
                   const std::vector<Shown>& parts, const std::vector<std::uint8_t>& fill) {
  const std::string what = "cannot make the virtual dataset " + name;
  const Id creation(H5Pcreate(H5P_DATASET_CREATE), what);
  if (!fill.empty()) check(H5Pset_fill_value(creation, type, fill.data()), what);
  for (const Shown& part : parts) {
    const Id to = selected(extents, part.start, part.count);
    const Shape first = part.from.empty() ? zeros(part.space) : part.from;
    Shape rest = part.space;
    for (std::size_t d = 0; d < rest.size(); ++d) rest[d] -= first[d];
    const Id from = selected(part.space, first, rest);
    check(H5Pset_virtual(creation, to, ".", ("/" + part.source).c_str(), from), what);
  }
  return Id(H5Dcreate_anon(file, type, space_of(extents), creation, H5P_DEFAULT), what);
}

namespace {

// All rows there will be, and of each what is said.
Id all_rows_of(const Shape& row, const Shape& start, const Shape& count) {
  Id space(H5Screate_simple(static_cast<int>(row.size()) + 1, joined(1, row).data(),
                            joined(H5S_UNLIMITED, row).data()),
           "cannot describe rows");
  const Shape blocks = joined(H5S_UNLIMITED, Shape(row.size(), 1));
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, joined(0, start).data(), nullptr, blocks.data(),
                            joined(1, count).data()),
        "cannot select rows");
  return space;
}

}  // namespace

Id virtual_rows(hid_t file, const std::string& name, hid_t type, const Shape& row,
                const std::vector<Shown>& parts, const std::vector<std::uint8_t>& fill) {
  const std::string what = "cannot make the virtual dataset " + name;
  const Id creation(H5Pcreate(H5P_DATASET_CREATE), what);
  if (!fill.empty()) check(H5Pset_fill_value(creation, type, fill.data()), what);
  for (const Shown& part : parts) {
    const Id to = all_rows_of(row, part.start, part.count),
             from = all_rows_of(part.space, zeros(part.space), part.space);
    check(H5Pset_virtual(creation, to, ".", ("/" + part.source).c_str(), from), what);
  }
  const Id space(H5Screate_simple(static_cast<int>(row.size()) + 1, joined(0, row).data(),
                                  joined(H5S_UNLIMITED, row).data()),
                 what);
  return Id(H5Dcreate_anon(file, type, space, creation, H5P_DEFAULT), what);
}

void give_name(hid_t object, hid_t file, const std::string& name) {
  if (is_in(file, name))
    check(H5Ldelete(file, name.c_str(), H5P_DEFAULT), "cannot replace " + name);
  check(H5Olink(object, file, name.c_str(), link_creation(), H5P_DEFAULT), "cannot name " + name);
}

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
  resume(path);
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
  resume(path);
  const hsize_t rows = std::max(rows_needed_, rows_of_sources());
  if (!is_linked_ && rows != rows_) replace(path, rows, front_);
}

void FlatList::resume(const std::string& path) {
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
