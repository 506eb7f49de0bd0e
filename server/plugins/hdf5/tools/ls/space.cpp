// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/tools/ls/space.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {
namespace {

class Space {
 public:
  explicit Space(const Contents& contents) : names_(contents.names) {
    for (const auto* of_kind : {&contents.variables, &contents.parameters, &contents.others})
      users_.insert(of_kind->begin(), of_kind->end());
    for (const auto& [group, datasets] : contents.results)
      users_.insert(datasets.begin(), datasets.end());
  }

  /// Of HDF5's walk, which comes to each object once.
  static herr_t add(hid_t file, const char* name, const H5O_info_t* info, void* space) {
    try {
      static_cast<Space*>(space)->object(file, name, *info);
      return 0;
    } catch (const std::exception&) {
      return -1;
    }
  }

  Json facts(std::uint64_t bytes) const {
    const std::uint64_t known = values_ + tables_ + room_ + structures_;
    return {{"values", values_},
            {"tables", tables_},
            {"room", room_},
            {"structures", structures_},
            {"rest", bytes - std::min(bytes, known)}};
  }

 private:
  void object(hid_t file, const char* name, const H5O_info_t& info) {
    const auto& [of_object, of_attributes] = info.meta_size;
    structures_ += info.hdr.space.total + of_object.index_size + of_object.heap_size +
                   of_attributes.index_size + of_attributes.heap_size;
    if (info.type == H5O_TYPE_DATASET) dataset(open_dataset(file, name), info.addr);
  }

  // Chunks have room behind the last row; what is compressed fills its own.
  void dataset(hid_t dataset, haddr_t address) {
    const Id creation(H5Dget_create_plist(dataset), "dataset"), type(H5Dget_type(dataset), "type");
    if (H5Pget_layout(creation) == H5D_VIRTUAL) return;
    const std::uint64_t stored = H5Dget_storage_size(dataset);
    const std::uint64_t filled = std::min(stored, product(extents_of(dataset)) * H5Tget_size(type));
    room_ += H5Pget_nfilters(creation) > 0 ? 0 : stored - filled;
    const auto name = names_.find(address);
    const bool is_users = name != names_.end() && users_.count(name->second) > 0;
    (is_users ? values_ : tables_) += H5Pget_nfilters(creation) > 0 ? stored : filled;
  }

  const Names& names_;
  std::set<std::string> users_;
  std::uint64_t values_ = 0, tables_ = 0, room_ = 0, structures_ = 0;
};

}  // namespace

Json space_of(hid_t file, const Contents& contents, std::uint64_t bytes) {
  Space space(contents);
  constexpr unsigned kSizes = H5O_INFO_BASIC | H5O_INFO_HDR | H5O_INFO_META_SIZE;
  if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, Space::add, &space, kSizes) >= 0)
    return space.facts(bytes);
  innermost_error();
  return nullptr;
}

}  // namespace leat::hdf5
