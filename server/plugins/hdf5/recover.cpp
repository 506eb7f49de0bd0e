// SPDX-License-Identifier: Apache-2.0
// What `leat recover FILE` starts for files of the hdf5 store: finishes the commit in which a
// writer was killed, and says what the file holds. Exit status: 0 the file is good, 1 it is not.
#include <hdf5.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "server/plugins/hdf5/disk/file_lock.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/handle.hpp"
#include "server/plugins/hdf5/plain_file.hpp"
#include "server/plugins/hdf5/view/remake.hpp"
#include "server/plugins/hdf5/xdmf/sidecar.hpp"

namespace {

using namespace leat::hdf5;

long long iterations_in(const std::string& path) {
  be_quiet();
  const Id file =
      open_plain(path, path + " cannot be opened: is it an HDF5 file that Leat has written?");
  const Id iterations(H5Dopen2(file, "iteration", H5P_DEFAULT),
                      path + " has no \"iteration\": Leat has not written it");
  const Id space(H5Dget_space(iterations), path);
  return H5Sget_simple_extent_npoints(space);
}

void recover_view(const std::string& path) {
  int finished = 0;
  const ViewFacts facts = remake_view(view_place(path, ""), &finished);
  std::printf("%s; last commits finished in %d of them\n", described(path, facts).c_str(),
              finished);
  std::printf("%s", xdmf::remade_sidecar(path, "recover").c_str());
}

void recover(const std::string& path) {
  if (!parts_of_view(path).empty()) return recover_view(path);
  const bool was_unfinished = finish_last_commit(path);
  const long long iterations = iterations_in(path);
  std::printf("%s: %s; %lld iteration%s\n", path.c_str(),
              was_unfinished ? "its last commit is finished now" : "nothing had to be done",
              iterations, iterations == 1 ? "" : "s");
  std::printf("%s", xdmf::remade_sidecar(path, "recover").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  prepare_for_views("leat recover");
  try {
    const std::optional<FileLock> lock = FileLock::take(argv[1]);
    if (!lock)
      throw std::runtime_error(std::string(argv[1]) + " is being written by a run" +
                               FileLock::holder(argv[1]));
    recover(argv[1]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "leat recover: %s\n", e.what());
    return 1;
  }
}
