// SPDX-License-Identifier: Apache-2.0
// What `leat recover FILE` starts for files of the hdf5 store: finishes the commit in which a
// writer was killed, and says what the file holds. Exit status: 0 the file is good, 1 it is not, 3
// its last commit could not be finished.
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>

#include "server/plugins/hdf5/base/plain_file.hpp"
#include "server/plugins/hdf5/base/shape.hpp"
#include "server/plugins/hdf5/disk/file_lock.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/tools/program.hpp"
#include "server/plugins/hdf5/tools/verify.hpp"
#include "server/plugins/hdf5/view/remake.hpp"
#include "server/plugins/hdf5/xdmf/sidecar.hpp"

namespace leat::hdf5 {
namespace {

long long iterations_in(const std::string& path) {
  be_quiet();
  const Id file = open_of_leat(path);
  const Id iterations(H5Dopen2(file, "iteration", H5P_DEFAULT),
                      path + " has no \"iteration\": Leat has not written it");
  return static_cast<long long>(product(extents_of(iterations)));
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
  std::printf("%s", xdmf::remade_sidecar(path, "recover").c_str());
  return made.not_finished.empty() ? kGood : kNotFinished;
}

int recover(const std::string& path) {
  if (!parts_of_view(path).empty()) return recover_view(path);
  const LastCommit commit = finish_last_commit(path);
  if (commit.kind == LastCommit::Kind::not_finished) say_not_finished(path, commit);
  const long long iterations = iterations_in(path);
  std::printf("%s: %s; %lld iteration%s\n", path.c_str(), text_of(commit.kind), iterations,
              iterations == 1 ? "" : "s");
  std::printf("%s", xdmf::remade_sidecar(path, "recover").c_str());
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
