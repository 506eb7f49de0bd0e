// SPDX-License-Identifier: Apache-2.0
// HDF5 files: written through a File of ours, or opened and made with HDF5's own means.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/disk/committed_file.hpp"
#include "server/plugins/hdf5/disk/named_file.hpp"

namespace leat::hdf5 {

// HDF5 on top of a File of ours: a "virtual file driver".

/// File access properties under which H5Fcreate writes to `file`, which outlives what is created.
/// HDF5's own file locks do not exist here, so HDF5_USE_FILE_LOCKING has no effect: no reader is
/// kept out.
Id access_list(File* file);

// Files opened with HDF5's own means, and without its locks: there are file systems that have none,
// where HDF5 opens nothing with them; and who looks at a file must not keep others from it. That
// one writer is enough is FileLock's business.

/// Throws when something is there that is no file: a pipe would be waited for.
void expect_file(const std::string& path);

/// For reading; `what` could not be done when it cannot be opened.
Id open_plain(const std::string& path, const std::string& what);
/// The same for a file that Leat has written, it is said.
Id open_of_leat(const std::string& path);
/// To change it.
Id change_plain(const std::string& path, const std::string& what);
/// A new one, in the place of what is there.
Id make_plain(const std::string& path);

/// For programs that read files which may be damaged, before anything else: no locks for the files
/// that HDF5 opens by itself either, and a crash of the library leaves nothing behind.
void prepare_for_files();
/// The same for those that read views: as many files at once as this process may have; a view of a
/// thousand parts has that many. When the library crashes over a damaged file, the last word is
/// that of `program`, with exit status 1; unless that is "".
void prepare_for_views(const char* program);
/// There is progress. A program of these that says so and then nothing for kLongestSilence is in one of
/// those loops from which HDF5 does not come back over a damaged file: it ends like one that
/// crashed.
void is_alive();
/// From now on is_alive() also says so to the server that has started this program, by a byte 0 on
/// standard output.
void tell_server_of_life();
inline constexpr unsigned kLongestSilence = 300;  // seconds

// A file that is made beside the one it replaces.

/// A file that is made under a name of its own before it gets the right one: an empty one, new in
/// any case; what had the name, be it a link of somebody's, is removed. What has it at the end too.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : path_(path), place_(path) {
    place_.remove();
    fd_ = place_.make();
    if (!fd_) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) place_.remove();
  }

  const std::string& path() const { return path_; }
  /// Leads to this file, whatever has its name by now.
  std::string open_path() const { return os::path_of_descriptor(fd_.get()); }
  /// In the place of what is there. Throws when it cannot.
  void rename_to(const std::filesystem::path& name) {
    std::filesystem::rename(path_, name);
    keep();
  }
  /// It has its name.
  void keep() { path_.clear(); }

 private:
  std::string path_;
  FilePlace place_;
  UniqueFd fd_;
};

}  // namespace leat::hdf5
