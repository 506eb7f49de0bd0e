// SPDX-License-Identifier: Apache-2.0
// What `leat merge` makes: a plain file with all that a view shows.
#include "server/plugins/hdf5/view/make_view.hpp"

#include <fcntl.h>
#include <hdf5_hl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/datasets/dataset.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"
#include "server/plugins/hdf5/view/view.hpp"
#include "server/plugins/hdf5/vtkhdf/vtkhdf.hpp"

namespace leat::hdf5 {
namespace {

// What a view is a view of, held open while it is read. HDF5 opens it by itself, and shows fill
// values where it cannot: for want of a file, of locks, of descriptors or of a dataset. What is
// open already it finds.

class Sources {
 public:
  explicit Sources(std::filesystem::path view_folder) : view_folder_(std::move(view_folder)) {}
  /// Opens all that `dataset` maps. Throws when a part is missing or cannot be read, and when HDF5
  /// has not the filter that a dataset in it is compressed with.
  void open(hid_t dataset);
  /// The first dataset that is mapped; nothing when none is.
  Id first_of(hid_t dataset);

 private:
  hid_t file(const std::string& name);

  std::filesystem::path view_folder_;
  std::map<std::string, Id> files_;
  std::set<std::pair<std::string, std::string>> known_;  // file, dataset
};

constexpr std::size_t kLongestName = 4096;

using GetName = ssize_t (*)(hid_t, size_t, char*, size_t);

std::string mapped_name(GetName get, hid_t creation, std::size_t mapping) {
  char name[kLongestName] = "";
  check(get(creation, mapping, name, sizeof name), "cannot read what is mapped");
  return name;
}

std::size_t mappings_of(hid_t creation) {
  std::size_t count = 0;
  if (H5Pget_layout(creation) == H5D_VIRTUAL)
    check(H5Pget_virtual_count(creation, &count), "cannot read what is mapped");
  return count;
}

Id creation_of(hid_t dataset) { return Id(H5Dget_create_plist(dataset), "reading a dataset"); }

Id open_mapped(hid_t file, const std::string& name, const std::string& path) {
  return Id(H5Dopen2(file, name.c_str(), H5P_DEFAULT),
            "\"" + name + "\" of " + path + " cannot be read");
}

void expect_filters(hid_t dataset, const std::string& whose) {
  const Id creation = creation_of(dataset);
  for (const StoredFilter& filter : filters_of(creation)) {
    const std::string why = why_cannot_expand(filter.number, filter.name);
    if (!why.empty()) throw std::runtime_error(whose + " " + why);
  }
}

hid_t Sources::file(const std::string& name) {
  Id& file = files_[name];
  if (file.is_open()) return file;
  const std::string path = view_folder_ / name;
  if (!std::filesystem::exists(path))
    throw std::runtime_error("the part " + path +
                             " is missing: the view and the folder of its parts belong together");
  file = open_plain(path, "the part " + path + " cannot be read");
  return file;
}

void Sources::open(hid_t dataset) {
  const Id creation = creation_of(dataset);
  for (std::size_t i = 0; i < mappings_of(creation); ++i) {
    const std::string part = mapped_name(H5Pget_virtual_filename, creation, i);
    const std::string name = mapped_name(H5Pget_virtual_dsetname, creation, i);
    if (!known_.emplace(part, name).second) continue;
    const std::string path = view_folder_ / part;
    expect_filters(open_mapped(file(part), name, path), "\"" + name + "\" of " + path);
  }
}

Id Sources::first_of(hid_t dataset) {
  const Id creation = creation_of(dataset);
  if (mappings_of(creation) == 0) return {};
  const std::string part = mapped_name(H5Pget_virtual_filename, creation, 0);
  return open_mapped(file(part), mapped_name(H5Pget_virtual_dsetname, creation, 0),
                     view_folder_ / part);
}

constexpr std::uint64_t kMergedBundle = 64ull * 1024;  // of rows that are small
constexpr std::uint64_t kPiece = 16 << 20;             // bytes in memory at once

bool is_virtual(hid_t creation) { return H5Pget_layout(creation) == H5D_VIRTUAL; }

// As the part has it: what HDF5 can write here. zfp must not take digits away a second time, and
// the settings that it keeps with a dataset are not those that it takes for a new one.
void copy_filters(hid_t from, hid_t to) {
  for (const StoredFilter& filter : filters_of(from)) {
    unsigned config = 0;
    const bool can_write = H5Zfilter_avail(filter.number) > 0 &&
                           H5Zget_filter_info(filter.number, &config) >= 0 &&
                           (config & H5Z_FILTER_CONFIG_ENCODE_ENABLED) != 0;
    if (can_write && filter.number == kZfp) {
      guard_zfp();
      compress_with(compression_from("zfp:reversible"), to, "a merged dataset");
    } else if (can_write) {
      check(H5Pset_filter(to, filter.number, filter.flags, filter.values.size(),
                          filter.values.data()),
            "compression");
    }
  }
}

// What scripts made is called after its own iterations.
bool has_rows_scale(hid_t dataset, const std::string& rows) {
  for (const std::string& scale : scales_of(dataset, 0)) {
    if (scale == rows || scale.substr(scale.rfind('/') + 1) == "iteration") return true;
  }
  return false;
}

Shape chunk_for(const Shape& extents, std::uint64_t bytes, bool with_rows, bool compressed) {
  const Shape rest = behind(extents);
  Shape chunk = chunk_of_iterations(rest, bytes, kMergedBundle);
  if (!with_rows) chunk[0] = records_in_chunk(product(rest) * bytes, extents[0], true);
  const hsize_t rows = std::max<hsize_t>(1, extents[0]);
  const hsize_t chunks = (rows + chunk[0] - 1) / chunk[0];
  chunk[0] = compressed && with_rows ? 1 : (rows + chunks - 1) / chunks;
  return chunk;
}

// Elements of a piece in each dimension: a multiple of those of a chunk, when there are some.
Shape piece_for(const Shape& extents, Shape chunk, std::uint64_t bytes) {
  chunk.resize(extents.size(), 1);
  Shape piece = extents;
  for (std::size_t d = 0; d < piece.size() && product(piece) * bytes > kPiece; ++d) {
    const std::uint64_t others = product(piece) / std::max<hsize_t>(1, piece[d]) * bytes;
    const hsize_t fit = std::max<hsize_t>(1, kPiece / std::max<std::uint64_t>(1, others));
    piece[d] = std::min(piece[d], std::max<hsize_t>(chunk[d], fit / chunk[d] * chunk[d]));
  }
  return piece;
}

// Creates a dataset of a view as one of a plain file, without values: chunked and compressed as its part is, but for what would lose
// digits once more. `rows`: what rows of the view are called after.
Id create_merged(hid_t source, hid_t file, const std::string& path, const std::string& rows,
                 Sources* sources) {
  const std::string what = "cannot write " + path;
  const Id type(H5Dget_type(source), what), space(H5Dget_space(source), what);
  const Id from(H5Dget_create_plist(source), what), creation(H5Pcreate(H5P_DATASET_CREATE), what);
  const Shape extents = extents_of(source);
  copy_fill_value(from, creation, type);
  if (is_virtual(from)) {
    const Id part = sources->first_of(source);
    if (part.is_open()) copy_filters(Id(H5Dget_create_plist(part), what), creation);
    const Shape chunk = chunk_for(extents, H5Tget_size(type), has_rows_scale(source, rows),
                                  H5Pget_nfilters(creation) > 0);
    check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), what);
  } else if (const Shape chunk = chunk_of(from); !chunk.empty()) {
    check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), what);
    copy_filters(from, creation);
  }
  return Id(H5Dcreate2(file, path.c_str(), type, space, link_creation(), creation, H5P_DEFAULT),
            what);
}

// In pieces; `copied` is told of the bytes of each.
void copy_values(hid_t source, hid_t target, const std::function<void(std::uint64_t)>& copied) {
  const std::string what = "cannot copy values";
  const Id type(H5Dget_type(source), what);
  const Shape extents = extents_of(source);
  const std::uint64_t bytes = H5Tget_size(type);
  // Nobody has written into a dimension that only has a name. Of what is virtual HDF5 does not
  // know.
  const bool has_none = H5Dget_storage_size(source) == 0 && is_scale(source) &&
                        !is_virtual(Id(H5Dget_create_plist(source), what));
  if (product(extents) == 0 || has_none) return;
  const Shape chunk = chunk_of(Id(H5Dget_create_plist(target), what));
  const Shape piece = piece_for(extents, chunk, bytes);
  std::vector<unsigned char> values(product(piece) * bytes);
  Shape at = zeros(extents);
  do {
    Shape count = piece;
    for (std::size_t d = 0; d < count.size(); ++d)
      count[d] = std::min(count[d], extents[d] - at[d]);
    read_part(source, type, at, count, values.data(), what);
    check(H5Dwrite(target, type, space_of(count), part_of(target, at, count, what), H5P_DEFAULT,
                   values.data()),
          what);
    copied(product(count) * bytes);
  } while (next_piece(extents, piece, &at));
}

std::uint64_t bytes_of_values(hid_t dataset) {
  const Id type(H5Dget_type(dataset), "reading a dataset");
  return product(extents_of(dataset)) * H5Tget_size(type);
}

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
