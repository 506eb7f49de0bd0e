// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/virtual_dataset.hpp"

#include <algorithm>
#include <stdexcept>

#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/view/copy_objects.hpp"

namespace leat::hdf5 {
namespace {

void select(hid_t space, const Shape& start, const Shape& count, hsize_t times, hsize_t step) {
  Shape stride, ones(start.size(), 1);
  for (const hsize_t n : count) stride.push_back(std::max<hsize_t>(1, n));
  ones[0] = times;
  if (times > 1) stride[0] = step;
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), stride.data(), ones.data(),
                            count.data()),
        "selecting what is mapped");
}

Id growing_space(const Shape& extents) {
  return space_of(extents, Shape(extents.size(), H5S_UNLIMITED));
}

// Boxes that touch are one for HDF5. Others it keeps as a list in this file format, and reads n of
// them in a time of n^2 whenever the dataset is opened: few at once make that linear.
constexpr hsize_t kMostApart = 64;

bool all_touch(const Mapping& mapping) {
  return mapping.times == 1 ||
         (mapping.from_step == mapping.from_count[0] && mapping.to_step == mapping.to_count[0]);
}

void map(hid_t creation, const VirtualPlan& plan, const Mapping& mapping) {
  const Id from = space_of(plan.source_extents[mapping.part]), to = growing_space(plan.extents);
  select(from, mapping.from, mapping.from_count, mapping.times, mapping.from_step);
  select(to, mapping.to, mapping.to_count, mapping.times, mapping.to_step);
  check(H5Pset_virtual(creation, to, plan.files[mapping.part].c_str(), plan.source.c_str(), from),
        "mapping " + plan.name);
}

void map_in_pieces(hid_t creation, const VirtualPlan& plan, const Mapping& mapping) {
  const hsize_t most = all_touch(mapping) ? mapping.times : kMostApart;
  for (hsize_t done = 0; done < mapping.times; done += most) {
    Mapping piece = mapping;
    piece.times = std::min(most, mapping.times - done);
    if (done > 0) {
      piece.from[0] += done * mapping.from_step;
      piece.to[0] += done * mapping.to_step;
    }
    map(creation, plan, piece);
  }
}

}  // namespace

void MappingList::add(Mapping mapping) {
  const Key key{mapping.part, behind(mapping.from), mapping.from_count, behind(mapping.to),
                mapping.to_count};
  const auto known = last_.find(key);
  if (known != last_.end() && !mapping.to.empty()) {
    Mapping& last = all_[known->second];
    const hsize_t from_step = mapping.from[0] - last.from[0], to_step = mapping.to[0] - last.to[0];
    const bool moves_on = mapping.from[0] >= last.from[0] + last.from_count[0] &&
                          mapping.to[0] >= last.to[0] + last.to_count[0];
    if (moves_on && last.times == 1) {
      last.from_step = from_step;
      last.to_step = to_step;
    }
    if (moves_on && from_step == last.times * last.from_step &&
        to_step == last.times * last.to_step) {
      ++last.times;
      return;
    }
  }
  last_[key] = all_.size();
  all_.push_back(std::move(mapping));
}

void create_virtual(hid_t file, const VirtualPlan& plan, hid_t like) {
  const std::string what = "cannot create " + plan.name + " in the view";
  const Id type(H5Dget_type(like), what), source(H5Dget_create_plist(like), what);
  if (plan.extents.empty()) throw std::runtime_error(what + ": it has no dimensions");
  const Id creation(H5Pcreate(H5P_DATASET_CREATE), what);
  copy_fill_value(source, creation, type);
  bool is_empty = true;
  for (const Mapping& mapping : plan.mappings) {
    if (product(mapping.to_count) == 0) continue;
    map_in_pieces(creation, plan, mapping);
    is_empty = false;
  }
  if (is_empty) set_small_chunks(creation, plan.extents);
  const Id dataset(H5Dcreate2(file, plan.name.c_str(), type, growing_space(plan.extents),
                              link_creation(), creation, H5P_DEFAULT),
                   what);
  copy_attributes(like, dataset);
}

}  // namespace leat::hdf5
