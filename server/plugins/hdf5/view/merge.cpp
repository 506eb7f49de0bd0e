// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/merge.hpp"

#include <fcntl.h>
#include <hdf5_hl.h>
#include <stdio.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/stored_tables.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"
#include "server/plugins/hdf5/view/copy_objects.hpp"
#include "server/plugins/hdf5/view/make_view.hpp"
#include "server/plugins/hdf5/view/merged_dataset.hpp"
#include "server/plugins/hdf5/vtkhdf/whole_file.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

struct Object {
  std::string path;
  H5O_type_t type;
  haddr_t address;
};

// Without /VTKHDF, which shows in its way what is copied, and is made anew: unless it is a group of
// variables.
std::vector<Object> objects_in(hid_t file) {
  std::vector<Object> objects;
  const bool is_made_anew = is_for_vtk(file);
  for (const std::string& path : names_in(file, true)) {
    if (is_made_anew && (path == "VTKHDF" || path.rfind("VTKHDF/", 0) == 0)) continue;
    H5O_info_t info;
    check(H5Oget_info_by_name(file, path.c_str(), &info, H5P_DEFAULT), "cannot read the view");
    objects.push_back({path, info.type, info.addr});
  }
  return objects;
}

Id open_object(hid_t file, const std::string& path) {
  return Id(H5Oopen(file, path.c_str(), H5P_DEFAULT), "cannot open " + path);
}

// Every link to one object leads to one object again.
class Merge {
 public:
  Merge(hid_t from, hid_t to, const fs::path& folder, const Progress& progress)
      : from_(from),
        to_(to),
        rows_(scale_of_rows(from)),
        sources_(folder),
        progress_(progress),
        objects_(objects_in(from)) {}

  MergeFacts run() {
    copy_attributes(from_, to_, {kViewMark});
    for (const Object& object : objects_) {
      if (object.type == H5O_TYPE_DATASET && is_first(object)) expect_parts(object.path);
    }
    names_.clear();
    for (const Object& object : objects_) copy(object);
    for (const auto& [address, path] : names_) {
      const Id object = open_object(from_, path);
      if (H5Iget_type(object) == H5I_DATASET) name_dimensions(path);
    }
    return facts_;
  }

 private:
  bool is_first(const Object& object) { return names_.emplace(object.address, object.path).second; }

  void expect_parts(const std::string& path) {
    is_alive();
    const Id source = open_object(from_, path);
    sources_.open(source);
    all_bytes_ += bytes_of_values(source);
  }

  void copy(const Object& object) {
    if (!is_first(object)) {
      link_hard(to_, names_[object.address], object.path);
    } else if (object.type == H5O_TYPE_GROUP) {
      const Id group(
          H5Gcreate2(to_, object.path.c_str(), link_creation(), group_creation(), H5P_DEFAULT),
          "cannot write " + object.path);
      copy_attributes(open_object(from_, object.path), group);
    } else if (object.type == H5O_TYPE_DATASET) {
      copy_dataset(object.path);
    }
  }

  void copy_dataset(const std::string& path) {
    const Id source = open_object(from_, path);
    const Id target = create_merged(source, to_, path, rows_, &sources_);
    copy_values(source, target, [this](std::uint64_t bytes) {
      is_alive();
      facts_.bytes += bytes;
      progress_(facts_.bytes, all_bytes_);
    });
    copy_attributes(source, target);
    if (is_scale(source)) make_scale(target, scale_title(source));
    ++facts_.datasets;
  }

  void name_dimensions(const std::string& path) {
    const Id source = open_object(from_, path), target = open_object(to_, path);
    if (is_scale(source)) return;
    copy_scales(source, target, to_, "");
    for (unsigned d = 0; d < extents_of(source).size(); ++d) {
      if (const std::string label = label_of(source, d); !label.empty())
        check(H5DSset_label(target, d, label.c_str()), "cannot label a dimension of " + path);
    }
  }

  hid_t from_, to_;
  std::string rows_;
  Sources sources_;
  const Progress& progress_;
  std::vector<Object> objects_;
  std::map<haddr_t, std::string> names_;  // the first one of each object
  std::uint64_t all_bytes_ = 0;
  MergeFacts facts_;
};

void give_name(const std::string& temporary, const std::string& name, bool replace) {
  int code = ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, name.c_str(),
                         replace ? 0 : RENAME_NOREPLACE);
  // File systems that know no such flag.
  if (code != 0 && errno == EINVAL && !fs::exists(name))
    code = ::rename(temporary.c_str(), name.c_str());
  if (code != 0) throw std::runtime_error("cannot write " + name + ": " + std::strerror(errno));
}

}  // namespace

MergeFacts merge_view(const std::string& from, const std::string& to, bool replace,
                      const Progress& progress) {
  be_quiet();
  H5dont_atexit();
  if (!fs::exists(from)) throw std::runtime_error(from + " does not exist");
  if (parts_of_view(from).empty())
    throw std::runtime_error(from +
                             " is no view of a run on several nodes: there is nothing to merge");
  if (fs::exists(to) && (!replace || fs::equivalent(from, to)))
    throw std::runtime_error(
        to + " is there already" +
        (replace ? ", and is what is to be merged" : ": name another, or replace it with --force"));
  const fs::path target = fs::absolute(to).lexically_normal();
  TemporaryFile temporary(target.parent_path() / ("." + target.filename().string() + ".merge"));
  MergeFacts facts;
  {
    const Id source = open_plain(from, "cannot open " + from);
    const Id file = make_plain(temporary.path());
    facts = Merge(source, file, fs::absolute(from).parent_path(), progress).run();
    facts.iterations = integers_of(source, table_of(source, "", "iteration")).size();
    facts.not_for_vtk = add_vtkhdf(file, file);
    check(H5Fflush(file, H5F_SCOPE_LOCAL), "cannot write " + temporary.path());
  }
  give_name(temporary.path(), target, replace);
  temporary.keep();
  return facts;
}

}  // namespace leat::hdf5
