// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/view.hpp"

#include <algorithm>

#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/stored_tables.hpp"
#include "server/plugins/hdf5/conventions/table_attributes.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"
#include "server/plugins/hdf5/view/copy_objects.hpp"

namespace leat::hdf5 {

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

std::vector<std::string> own_dimensions(const ViewedVariable& variable, std::size_t dims) {
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
    if (!variable.in_part[part].is_open()) continue;
    const hsize_t row = first_row(variable.in_part[part]);
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
