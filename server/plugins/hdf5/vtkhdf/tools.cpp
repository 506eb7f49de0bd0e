// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/vtkhdf/tools.hpp"

#include <algorithm>

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

void give_name(hid_t object, hid_t file, const std::string& name) {
  if (is_in(file, name))
    check(H5Ldelete(file, name.c_str(), H5P_DEFAULT), "cannot replace " + name);
  check(H5Olink(object, file, name.c_str(), link_creation(), H5P_DEFAULT), "cannot name " + name);
}

}  // namespace leat::hdf5::vtk
