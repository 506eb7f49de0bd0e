// SPDX-License-Identifier: Apache-2.0
// What `leat ls` and `leat recover` ask of a file beside what h5py tells. Standard output: a line of
// JSON with what is known of its writer. --inside: a second one, by the HDF5 library: the session
// that has written it, and the bytes of its structures. There is none when the library crashes.
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <cstdio>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/disk/file_lock.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/tools/program.hpp"

namespace leat::hdf5 {
namespace {

using Json = nlohmann::ordered_json;

// Of processor time; some hundredths are usual.
constexpr int kMostSeconds = 10;

bool is_left_behind(const std::string& path) {
  struct stat facts {};
  return ::lstat(journal_of(path).c_str(), &facts) == 0 || FileLock::is_left(path);
}

Json writer_of(const std::string& path) {
  if (FileLock::is_taken(path)) return {{"state", "running"}, {"needs_recover", false}};
  const bool unfinished = has_unfinished_commit(path);
  return {{"state", unfinished || is_left_behind(path) ? "killed" : ""},
          {"needs_recover", unfinished}};
}

// Of HDF5's walk, which comes to each object once.
herr_t add_structures(hid_t, const char*, const H5O_info_t* info, void* bytes) {
  const auto& [of_object, of_attributes] = info->meta_size;
  *static_cast<std::uint64_t*>(bytes) += info->hdr.space.total + of_object.index_size +
                                         of_object.heap_size + of_attributes.index_size +
                                         of_attributes.heap_size;
  return 0;
}

Json inside_of(const std::string& path) {
  const Id file = open_of_leat(path);
  std::uint64_t bytes = 0;
  constexpr unsigned kSizes = H5O_INFO_BASIC | H5O_INFO_HDR | H5O_INFO_META_SIZE;
  const bool known =
      H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, add_structures, &bytes, kSizes) >= 0;
  return {{"session", text_attribute(file, "session", "")},
          {"structures", known ? Json(bytes) : Json(nullptr)}};
}

}  // namespace

int tell_state(const Words& words) {
  const bool inside = words.size() == 2;
  print_line(writer_of(words.back()));
  std::fflush(stdout);
  if (!inside) return kGood;
  be_quiet();
  ::signal(SIGPROF, SIG_DFL);
  const itimerval limit{{0, 0}, {kMostSeconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  print_line(inside_of(words.back()));
  return kGood;
}

}  // namespace leat::hdf5
