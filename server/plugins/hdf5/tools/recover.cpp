// SPDX-License-Identifier: Apache-2.0
// What `leat recover FILE` starts for files of the hdf5 store: finishes the commit in which a
// writer was killed, and says what the file holds. Exit status: 0 the file is good, 1 it is not, 3
// its last commit could not be finished.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/base/parts.hpp"
#include "server/plugins/hdf5/disk/file_lock.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/tools/program.hpp"
#include "server/plugins/hdf5/view/make_view.hpp"
#include "server/plugins/hdf5/view/part.hpp"

namespace leat::hdf5 {
namespace {

long long iterations_in(const std::string& path) {
  be_quiet();
  const Id file = open_of_leat(path);
  if (is_shared(path)) return static_cast<long long>(iterations_in_shared(path).size());
  if (text_attribute(file, "leat_layout", "") == kDamarisLayout) return 1;
  const Id iterations(H5Dopen2(file, "iteration", H5P_DEFAULT),
                      path + " has no \"iteration\": Leat has not written it");
  return static_cast<long long>(product(extents_of(iterations)));
}

constexpr hsize_t kAtATime = hsize_t{32} << 20;  // bytes

// True when each chunk goes through a filter that notices changed bytes: a sum, or a decoder. None
// that this program does not have: what it cannot read, it cannot check.
bool has_checksum(hid_t properties) {
  bool notices = false;
  for (const StoredFilter& filter : filters_of(properties)) {
    if (H5Zfilter_avail(filter.number) <= 0) return false;
    notices = notices || filter.number != H5Z_FILTER_SHUFFLE;
  }
  return notices;
}

// Reads all of it, some rows at a time, so that each chunk is decoded.
void read_all(hid_t dataset, hid_t type, const std::string& name) {
  Shape count = extents_of(dataset), begin = zeros(count);
  const hsize_t row = product(behind(count)) * H5Tget_size(type);
  if (count.empty() || row == 0) return;
  const hsize_t rows = std::max<hsize_t>(1, kAtATime / row), all = count[0];
  std::vector<char> data;
  for (begin[0] = 0; begin[0] < all; begin[0] += count[0]) {
    count[0] = std::min(rows, all - begin[0]);
    data.resize(count[0] * row);
    is_alive();
    read_part(dataset, type, begin, count, data.data(),
              "data of \"" + name + "\", rows " + std::to_string(begin[0]) + " to " +
                  std::to_string(begin[0] + count[0] - 1));
  }
}

void look_at_dataset(hid_t dataset, const std::string& name) {
  const Id properties(H5Dget_create_plist(dataset), name);
  const Id type(H5Dget_type(dataset), name);
  if (H5Pget_layout(properties) == H5D_VIRTUAL) return;
  const bool is_text =
      check(H5Tdetect_class(type, H5T_VLEN), name) > 0 || check(H5Tis_variable_str(type), name) > 0;
  if (H5Pget_layout(properties) == H5D_CHUNKED) {
    hsize_t chunks = 0;  // reads the whole index of chunks
    check(H5Dget_num_chunks(dataset, Id(H5Dget_space(dataset), name), &chunks),
          "the chunks of \"" + name + "\"");
  }
  if (!is_text && has_checksum(properties)) read_all(dataset, type, name);
}

void look_at_object(hid_t file, const char* name, H5O_type_t type, void* damage) {
  try {
    is_alive();
    const Id object(H5Oopen(file, name, H5P_DEFAULT), std::string("\"") + name + "\"");
    if (type == H5O_TYPE_DATASET) look_at_dataset(object, name);
  } catch (const std::exception& e) {
    static_cast<std::vector<std::string>*>(damage)->push_back(e.what());
  }
}

// Reads all structures, and all data that have a checksum, some by a filter: what cannot be read,
// with the reason.
std::vector<std::string> damage_in(const std::string& path) {
  const Id file = open_of_leat(path);
  std::vector<std::string> damage;
  const auto each = [](hid_t id, const char* name, const H5O_info_t* found, void* to) -> herr_t {
    look_at_object(id, name, found->type, to);
    return 0;
  };
  if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, each, &damage, H5O_INFO_BASIC) < 0)
    damage.push_back("its list of objects: " + innermost_error());
  return damage;
}

// Of a file or a part: what is wrong with its data, a line each. True when nothing is.
bool has_whole_data(const std::string& path) {
  constexpr std::size_t kMost = 20;
  const std::vector<std::string> damage = damage_in(path);
  for (std::size_t i = 0; i < damage.size() && i < kMost; ++i)
    std::fprintf(stderr, "leat recover: %s: damaged: %s\n", path.c_str(), damage[i].c_str());
  if (damage.size() > kMost)
    std::fprintf(stderr, "leat recover: %s: %zu more are damaged\n", path.c_str(),
                 damage.size() - kMost);
  return damage.empty();
}

void say_not_finished(const std::string& path, const LastCommit& commit) {
  std::fprintf(stderr,
               "leat recover: %s: the last commit cannot be finished: %s. The iterations of that "
               "commit are not given back, and changes for them may be in the file in part. The "
               "journal is kept as %s\n",
               path.c_str(), commit.why.c_str(), commit.kept.c_str());
}

const char* text_of(LastCommit::Kind kind) {
  switch (kind) {
    case LastCommit::Kind::whole:
      return "nothing had to be done";
    case LastCommit::Kind::not_begun:
      return "nothing had to be done: a commit that had changed nothing yet is taken back";
    case LastCommit::Kind::finished:
      return "its last commit is finished now";
    case LastCommit::Kind::not_finished:
      return "its last commit is NOT finished";
  }
  return "";
}

int recover_view(const std::string& path) {
  const RemadeView made = remake_view(view_place(path, ""));
  for (const auto& [part, commit] : made.not_finished) say_not_finished(part, commit);
  std::printf("%s; last commits finished in %d of them\n", described(path, made.facts).c_str(),
              made.finished);
  return made.not_finished.empty() ? kGood : kNotFinished;
}

int recover(const std::string& path) {
  if (!parts_of_view(path).empty()) return recover_view(path);
  const LastCommit commit = finish_last_commit(path);
  if (commit.kind == LastCommit::Kind::not_finished) say_not_finished(path, commit);
  const long long iterations = iterations_in(path);
  std::printf("%s: %s; %lld iteration%s\n", path.c_str(), text_of(commit.kind), iterations,
              iterations == 1 ? "" : "s");
  if (commit.kind == LastCommit::Kind::not_finished) return kNotFinished;
  return has_whole_data(path) ? kGood : kBad;
}

}  // namespace

int recover_file(const Words& words) {
  const std::string& path = words[0];
  expect_file(path);
  const std::optional<FileLock> lock = FileLock::take(path);
  if (!lock) throw std::runtime_error(path + " is being written by a run" + FileLock::holder(path));
  return recover(path);
}

}  // namespace leat::hdf5
