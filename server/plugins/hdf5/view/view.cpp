// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/view.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/base/parts.hpp"
#include "server/plugins/hdf5/conventions/block_table.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"

namespace leat::hdf5 {
namespace {

constexpr hsize_t kMostInChunk = 8192;

struct AttributeCopy {
  hid_t to;
  const std::vector<std::string>& but;
};

bool names_objects(hid_t type) { return H5Tdetect_class(type, H5T_REFERENCE) > 0; }

bool is_of_scales(const std::string& name) {
  return name == "CLASS" || name == "NAME" || name == "DIMENSION_LIST" ||
         name == "REFERENCE_LIST" || name == "DIMENSION_LABELS" || name == "_Netcdf4Dimid" ||
         name == "_Netcdf4Coordinates";
}

void copy_attribute(hid_t from, const char* name, const AttributeCopy& copy) {
  const std::string what = std::string("cannot copy the attribute ") + name;
  const Id source(H5Aopen(from, name, H5P_DEFAULT), what);
  const Id type(H5Aget_type(source), what), space(H5Aget_space(source), what);
  if (names_objects(type)) return;
  const auto count =
      static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space)));
  std::vector<std::uint8_t> value(count * H5Tget_size(type) + 1);
  check(H5Aread(source, type, value.data()), what);
  const Id target(H5Acreate2(copy.to, name, type, space, H5P_DEFAULT, H5P_DEFAULT), what);
  check(H5Awrite(target, type, value.data()), what);
  const bool varies = H5Tis_variable_str(type) > 0 || H5Tdetect_class(type, H5T_VLEN) > 0;
  if (varies) H5Dvlen_reclaim(type, space, H5P_DEFAULT, value.data());
}

herr_t visit_attribute(hid_t from, const char* name, const H5A_info_t*, void* data) {
  const auto& copy = *static_cast<AttributeCopy*>(data);
  if (is_of_scales(name) || has_attribute(copy.to, name)) return 0;
  if (std::find(copy.but.begin(), copy.but.end(), name) != copy.but.end()) return 0;
  try {
    copy_attribute(from, name, copy);
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

}  // namespace

void copy_attributes(hid_t from, hid_t to, const std::vector<std::string>& but) {
  AttributeCopy copy{to, but};
  check(H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, nullptr, visit_attribute, &copy),
        "cannot copy attributes");
}

void copy_fill_value(hid_t from, hid_t to, hid_t type) {
  const std::string what = "cannot copy a fill value";
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  check(H5Pfill_value_defined(from, &defined), what);
  if (defined != H5D_FILL_VALUE_USER_DEFINED) return;
  std::vector<std::uint8_t> fill(H5Tget_size(type));
  check(H5Pget_fill_value(from, type, fill.data()), what);
  check(H5Pset_fill_value(to, type, fill.data()), what);
}

void set_small_chunks(hid_t creation, const Shape& extents) {
  Shape chunk;
  hsize_t elements = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const hsize_t most = std::max<hsize_t>(1, kMostInChunk / elements);
    chunk.insert(chunk.begin(), std::clamp<hsize_t>(extents[d], 1, most));
    elements *= chunk.front();
  }
  check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "chunks");
}

void copy_whole(hid_t from_file, const std::string& from, hid_t to_file, const std::string& to) {
  const std::string what = "cannot copy " + from;
  const Id source = open_dataset(from_file, from);
  const Id type(H5Dget_type(source), what), space(H5Dget_space(source), what);
  const Id creation(H5Pcreate(H5P_DATASET_CREATE), what);
  copy_fill_value(Id(H5Dget_create_plist(source), what), creation, type);
  const Shape extents = extents_of(source);
  if (!extents.empty()) set_small_chunks(creation, extents);
  const Id target(
      H5Dcreate2(to_file, to.c_str(), type, space, link_creation(), creation, H5P_DEFAULT), what);
  std::vector<std::uint8_t> values(product(extents) * H5Tget_size(type) + 1);
  check(H5Dread(source, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), what);
  check(H5Dwrite(target, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), what);
  if (H5Tis_variable_str(type) > 0) H5Dvlen_reclaim(type, space, H5P_DEFAULT, values.data());
  copy_attributes(source, target);
}

void copy_scales(hid_t from, hid_t to, hid_t file, const std::string& prefix) {
  for (unsigned d = 0; d < extents_of(from).size(); ++d) {
    for (const std::string& scale : scales_of(from, d))
      attach_scale(to, d, open_dataset(file, prefix + scale), "cannot name a dimension");
  }
}

std::string dimension_name(hid_t dataset, unsigned d) {
  std::string label = label_of(dataset, d);
  if (!label.empty()) return label;
  const std::vector<std::string> scales = scales_of(dataset, d);
  return scales.empty() ? "" : scales[0].substr(scales[0].rfind('/') + 1);
}

std::vector<std::string> datasets_in(hid_t file, const std::string& group) {
  const std::string what = "cannot read the group /" + group;
  if (!group.empty() && !is_in(file, group)) return {};
  const Id top(H5Gopen2(file, group.empty() ? "." : group.c_str(), H5P_DEFAULT), what);
  std::vector<std::string> datasets;
  for (const std::string& name : names_in(top, true)) {
    const std::string path = group.empty() ? name : group + "/" + name;
    if (is_dataset(file, path)) datasets.push_back(path);
  }
  return datasets;
}

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
  check(H5Pset_virtual(creation, to, plan.files[mapping.part].c_str(),
                       (plan.roots[mapping.part] + plan.source).c_str(), from),
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

std::size_t widest_part(const View& view, const std::string& name, std::size_t first) {
  std::size_t which = first, bytes = 0;
  for (std::size_t i = 0; i < view.parts.size(); ++i) {
    if (!is_dataset(view.parts[i].file, name)) continue;
    const Id type(H5Dget_type(open_dataset(view.parts[i].file, name)), name);
    const std::size_t here = H5Tget_size(type);
    if (here > bytes) which = i, bytes = here;
  }
  return which;
}

VirtualPlan plan_for(const View& view, const std::string& name, const std::string& source,
                     const Shape& extents, const std::set<std::size_t>& left_out) {
  VirtualPlan plan;
  plan.name = name;
  plan.source = source;
  plan.extents = extents;
  plan.files = view.files;
  for (std::size_t part = 0; part < view.parts.size(); ++part) {
    const hid_t file = view.parts[part].file;
    plan.roots.push_back(view.parts[part].root);
    const bool is_there = left_out.count(part) == 0 && is_dataset(file, source);
    plan.source_extents.push_back(is_there ? extents_in(file, source) : Shape{});
  }
  return plan;
}

namespace {

// `titles`: of the dimensions that have their names.
void name_rest(const View& view, Dataset& named, std::vector<std::string> titles,
               const std::vector<DimensionName>& names, const std::vector<std::string>& labels) {
  for (const DimensionName& wish : names) {
    const std::size_t d = titles.size();
    Dataset& scale = view.scales.name(named, d, wish);
    scale.grow_to({named.extents()[d]});
    titles.push_back(scale.name());
  }
  std::vector<std::string> wanted = titles;
  std::copy(labels.rbegin(), labels.rend(), wanted.rbegin());
  if (wanted != titles) set_labels(named, wanted);
}

}  // namespace

void name_dimensions(const View& view, const std::string& dataset, Dataset* blocks,
                     const std::vector<DimensionName>& names,
                     const std::vector<std::string>& labels) {
  Dataset named(view.file, dataset);
  named.attach_scale(0, *blocks);
  name_rest(view, named, {blocks->name()}, names, labels);
}

void name_dimensions(const View& view, const std::string& dataset, bool with_rows,
                     const std::vector<DimensionName>& names,
                     const std::vector<std::string>& labels) {
  Dataset named(view.file, dataset);
  std::vector<std::string> titles;
  if (with_rows) {
    attach_scale(named.id(), 0, view.scales.rows().id(),
                 "cannot name the iterations of " + dataset);
    titles.push_back(view.scales.rows().name());
  }
  name_rest(view, named, std::move(titles), names, labels);
}

std::vector<std::string> own_datasets_in(const Part& part) {
  std::vector<std::string> all = datasets_in(part.file);
  if (part.shows_vtk)
    std::erase_if(all, [](const std::string& name) { return begins_with(name, "VTKHDF/"); });
  return all;
}

bool has_slots(hid_t dataset) { return has_attribute(dataset, kPatches); }

bool is_array(const ViewedVariable& variable) {
  if (variable.layout == "global") return true;
  const auto shape_of = [&](hid_t dataset) {
    return variable.constant ? extents_of(dataset) : behind(extents_of(dataset));
  };
  const Shape shape = shape_of(variable.like());
  return std::none_of(variable.in_part.begin(), variable.in_part.end(), [&](const Id& dataset) {
    return dataset.is_open() && (has_attribute(dataset, kBlockTable) || shape_of(dataset) != shape);
  });
}

std::vector<std::string> own_dimensions(const ViewedVariable& variable, std::size_t dims) {
  if (is_scale(variable.like())) return {variable.name};
  const auto all = static_cast<unsigned>(extents_of(variable.like()).size());
  std::vector<std::string> names;
  for (unsigned d = all - static_cast<unsigned>(dims); d < all; ++d)
    names.push_back(dimension_name(variable.like(), d));
  return names;
}

std::vector<std::uint8_t> written_rows(const View& view, const ViewedVariable& variable,
                                       std::size_t part) {
  const std::string name = table_of(view.parts[part].file, variable.name, "_written");
  if (name.empty()) return {};
  std::vector<std::uint8_t> written;
  for (const std::int64_t flag : integers_of(view.parts[part].file, name))
    written.push_back(flag != 0);
  return written;
}

void add_first_row(View& view, const ViewedVariable& variable) {
  hsize_t first = H5S_UNLIMITED;
  for (std::size_t part = 0; part < view.parts.size(); ++part) {
    const Part& of = view.parts[part];
    const bool is_of_piece = of.is_piece && is_dataset(of.file, variable.name);
    if (!variable.in_part[part].is_open() && !is_of_piece) continue;
    const hsize_t row = first_row(open_dataset(of.file, variable.name));
    for (const RowRun& run : view.rows.runs(part, row, row + 1, {}))
      first = std::min(first, run.to);
  }
  const Dataset made(view.file, variable.name);
  remove_attribute(made.id(), kFirstRow);
  if (first != H5S_UNLIMITED) note_first_row(made.id(), first);
}

void add_written_mask(View& view, const ViewedVariable& variable) {
  std::vector<std::int8_t> all(view.rows.size(), 0);
  for (std::size_t part = 0; part < view.parts.size(); ++part) {
    if (!variable.in_part[part].is_open()) continue;
    const std::string table = table_of(view.parts[part].file, variable.name, "_written");
    const std::vector<std::uint8_t> written = written_rows(view, variable, part);
    for (const RowRun& run : view.rows.runs(part, 0, H5S_UNLIMITED, written)) {
      for (hsize_t i = 0; i < run.count; ++i) all[run.to + i * run.step] = 1;
    }
    if (!table.empty()) view.done.insert(table);
  }
  if (std::count(all.begin(), all.end(), 0) == 0) return;
  DatasetPlan plan = growing_list(all.size());
  plan.chunk = {std::max<hsize_t>(1, std::min<hsize_t>(all.size(), plan.chunk[0]))};
  plan.fill = {0};
  const std::string name =
      view.scales.take_name(view.scales.in_own_group(variable.name + "_written"));
  Dataset table(view.file, name, H5T_NATIVE_INT8, plan);
  table.write({0}, {all.size()}, all.data());
  describe_mask(table, written_mask_of(variable.name), coordinates_of_rows(view.time, name));
  name_dimensions(view, name, true, {});
}

}  // namespace leat::hdf5
