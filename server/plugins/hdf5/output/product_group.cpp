// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/product_group.hpp"

#include <algorithm>
#include <stdexcept>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"

namespace leat::hdf5 {
namespace {

Shape extents_of(const leat_result& result) {
  Shape extents;
  for (unsigned d = 0; d < result.dims; ++d)
    extents.push_back(static_cast<hsize_t>(result.extent[d]));
  return extents;
}

}  // namespace

std::string ProductGroup::path_of(const leat_result_set& set) {
  const bool is_plugin = leat_result_set_kind(&set) == LEAT_FROM_PLUGIN;
  return (is_plugin ? "products/" : "scripts/") + std::string(set.source);
}

ProductGroup::ProductGroup(hid_t file, const std::string& path)
    : file_(file), group_(path + "/"), iteration_(make_iterations(file, group_ + "iteration")) {
  if (iteration_.is_new()) {
    make_scale(iteration_.id(), "iteration");
    return;
  }
  rows_ = iteration_.extents()[0];
  for (const std::int64_t iteration : numbers_in(iteration_))
    row_of_.try_emplace(iteration, row_of_.size());
  const Id group(H5Gopen2(file_, group_.c_str(), H5P_DEFAULT), "cannot read the group " + group_);
  for (const std::string& name : names_in(group, true)) resume(name);
  for (auto& [name, dataset] : results_) take_scales_of(dataset);
}

void ProductGroup::resume(const std::string& name) {
  if (name == "iteration" || !is_dataset(file_, group_ + name)) return;
  Dataset dataset(file_, group_ + name);
  (is_scale(dataset.id()) ? scales_ : results_).emplace(name, std::move(dataset));
}

void ProductGroup::take_scales_of(Dataset& result) {
  result.attach_iterations(iteration_, iteration_.extents()[0]);
  for (std::size_t d = 1; d < result.extents().size(); ++d) {
    const haddr_t address = result.scale_of(d);
    for (auto& [name, scale] : scales_) {
      if (address_of(scale.id()) == address) result.attach_scale(d, scale);
    }
  }
}

void ProductGroup::add(const leat_result_set& set) {
  const auto [found, is_new] = row_of_.try_emplace(set.iteration, rows_);
  std::string failed;
  for (std::uint64_t i = 0; i < set.result_count; ++i) {
    const leat_result& result = *leat_result_at(&set, i);
    try {
      write(result, found->second);
    } catch (const std::exception& e) {
      failed += (failed.empty() ? "" : "; ") + std::string("\"") + result.name + "\": " + e.what();
    }
  }
  rows_ += is_new;
  for (auto& [name, dataset] : results_) {
    Shape grown = dataset.extents();
    grown[0] = rows_;
    dataset.grow_to(grown);
  }
  if (!failed.empty()) throw std::runtime_error(failed);
}

void ProductGroup::finish_row(std::int64_t iteration) {
  if (iteration_.extents()[0] == rows_) return;
  iteration_.grow_to({rows_});
  write_numbers(iteration_, {rows_ - 1}, {1}, {iteration});
}

void ProductGroup::list_named() {
  iteration_.list_named();
  for (auto& [name, scale] : scales_) scale.list_named();
}

void ProductGroup::write(const leat_result& result, hsize_t row) {
  Dataset& dataset = dataset_for(result);
  const Shape extents = extents_of(result);
  dataset.grow_to(joined(row + 1, extents));
  dataset.write(joined(row, zeros(extents)), joined(1, extents), result.data,
                {extents, zeros(extents), extents});
}

Dataset& ProductGroup::dataset_for(const leat_result& result) {
  const auto found = results_.find(result.name);
  if (found == results_.end()) return results_.emplace(result.name, make(result)).first->second;
  Dataset& dataset = found->second;
  if (dataset.extents().size() != result.dims + 1 ||
      H5Tequal(dataset.type(), type_of(result.type)) <= 0) {
    throw std::runtime_error(
        "it has another type or number of dimensions than at first, where one iteration was " +
        listed(behind(dataset.extents())));
  }
  return dataset;
}

Dataset ProductGroup::make(const leat_result& result) {
  if (is_in(file_, group_ + result.name))
    throw std::runtime_error("a dimension has its name: give one of them another");
  const Id type = type_of(result.type);
  DatasetPlan plan;
  plan.extents = joined(0, extents_of(result));
  plan.grows.assign(plan.extents.size(), true);
  plan.chunk =
      chunk_of_iterations(extents_of(result), H5Tget_size(type), bundle_for(results_.size() + 1));
  plan.fill = fill_value(result.type);
  Dataset dataset(file_, group_ + result.name, type, plan);
  if (*result.unit) set_attribute(dataset.id(), "units", std::string(result.unit));
  set_fill_attribute(dataset.id(), type, plan.fill);
  dataset.attach_iterations(iteration_, iteration_.extents()[0]);
  for (unsigned d = 0; d < result.dims; ++d) dataset.attach_scale(d + 1, scale_for(result, d));
  return dataset;
}

// One of the name and length: results of different lengths have different dimensions.
Dataset& ProductGroup::scale_for(const leat_result& result, unsigned d) {
  const auto length = static_cast<hsize_t>(result.extent[d]);
  const std::string wished = result.dimension[d];
  for (int number = 1;; ++number) {
    std::string name = wished + (number == 1 ? "" : "_" + std::to_string(number));
    const auto found = scales_.find(name);
    if (found != scales_.end() && found->second.extents() == Shape{length}) return found->second;
    const bool taken = is_in(file_, group_ + name);
    if (taken || name == result.name) continue;
    return scales_.emplace(name, make_dimension(file_, group_ + name, length, true)).first->second;
  }
}

}  // namespace leat::hdf5
