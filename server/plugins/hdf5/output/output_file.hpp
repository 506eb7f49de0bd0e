// SPDX-License-Identifier: Apache-2.0
// Which file a run writes: never one that another run is writing, never over what is there without
// being told to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/disk/committed_file.hpp"
#include "server/plugins/hdf5/disk/file_lock.hpp"

namespace leat::hdf5 {

/// The name of the run's file, and the lock that keeps other runs away from it while this lives.
class OutputFile {
 public:
  /// In a resumed run: the file that it was writing, when that is there; its last commit is
  /// finished. Otherwise, and in any other run:
  ///
  /// Takes <folder>/<file>; another name with the session in it when a run in progress has that one
  /// (said in the log). What is there already is renamed to <name>.1.h5, <name>.2.h5, ... (`exists`
  /// = "keep", the default; said in the log) or removed ("replace"). Throws when the folder cannot
  /// be written to.
  OutputFile(const leat_run& run, const Host& host);
  /// A file that other servers of this run write too: it is locked between lock() and unlock() alone.
  struct Shared {
    std::string path;
  };
  OutputFile(const leat_run& run, const Host& host, const Shared& shared);
  /// One of those that this server writes one after the other (split_store.hpp), which has them for itself. One that is there is
  /// continued, or gone on in where it is of an earlier run.
  struct Piece {
    std::string path, split;
    double begin = 0;  ///< with `split` what the file says of itself
    bool is_earlier = false;
  };
  OutputFile(const leat_run& run, const Host& host, const Piece& piece);
  /// One that others do not see: it is made to get the name of another file, and has no lock of its own.
  struct Draft {
    std::string path;
    std::string view{};  ///< of what it is to be a part
    std::optional<Piece> piece{};
  };
  OutputFile(const Host& host, const Draft& draft);
  /// The file of its own of a server that shares others: nobody expects it to be there.
  struct Spare {};
  OutputFile(const leat_run& run, const Host& host, Spare);

  const std::string& path() const { return path_; }
  /// On one of several nodes path() is a part of the output, and this what is to show all; else "".
  const std::string& view() const { return view_; }
  bool is_shared() const { return is_shared_; }
  const std::optional<Piece>& piece() const { return piece_; }
  bool is_draft() const { return is_draft_; }
  /// The file of an earlier run is there, which the run is to go on in; its last commit is finished.
  bool is_earlier() const { return is_earlier_; }
  /// False where somebody else is writing it, at work or stopped. The last commit of one that was killed is finished.
  bool lock();
  void unlock() { lock_.reset(); }
  /// Whether the run's file is there, to be continued.
  bool continues() const { return continues_; }
  /// It is not where it was, though a writer before this one had one.
  bool is_missing() const { return is_missing_; }
  /// It cannot be continued after all: it gets another name, whatever `exists` says, and a new file
  /// may be made. An error in the log says so, and why.
  void give_up_old(const std::string& why);

  /// The file has not its name any more: finds one for it, and a lock, by which path() is called
  /// from then on. Its own when that is free; else <name>.1.h5, ...; in the folder where it was, or
  /// one of that name. Parts have no other name than theirs: what has it is moved away. "", or why
  /// there is none.
  std::string name_again(CommittedFile* file);

 private:
  void take(const leat_run& run);
  bool find_own(const leat_run& run, const std::string& path, bool is_aside = false);
  bool find_own_anywhere(const leat_run& run, const std::string& wanted);
  bool find_renamed(const leat_run& run, const std::string& path);
  void say_missing(const std::string& fresh);
  void hold(FileLock lock);
  void go_on_in_folder();
  bool take_name(CommittedFile* file, const std::string& path);
  void take_new(const leat_run& run, const std::string& wanted);
  void take_to_append(const leat_run& run, const std::string& wanted);
  void finish_earlier();

  void take_part(const leat_run& run, bool is_expected);
  void take_part_in(const leat_run& run, const std::string& folder, bool is_expected);
  bool take_earlier_part(const leat_run& run, const std::string& folder);

  Host host_;
  std::string path_, view_;
  std::string wanted_;    // path_, but for name_again()
  std::string absolute_;  // the same, should the working folder go
  std::optional<FileLock> lock_;
  std::optional<Piece> piece_;
  bool continues_ = false, is_missing_ = false, gave_up_ = false, is_shared_ = false;
  bool is_draft_ = false, is_earlier_ = false;
};

/// "10 iterations, 0 to 9"
std::string described_iterations(const std::vector<std::int64_t>& ascending);

/// Looks whether the run's file still has its name. Somebody may remove or rename it while it is
/// written, with its folder or alone, or put another file in its place; what is written to it would
/// go with the server then, and nobody would be told.
class NameGuard {
 public:
  /// Says which iterations are in the file.
  using Content = std::function<std::string()>;
  NameGuard(OutputFile* output, CommittedFile* file, const Host& host)
      : output_(*output), file_(*file), host_(host) {}

  /// After a commit, or when one fails, as it does in a folder that is gone. When the file has lost
  /// its name, it gets one again with all that is in it (OutputFile::name_again), and the log says
  /// so. One system call when it has it. True when it has another name now, or its own again.
  bool look(const Content& content) { return !file_.named().has_its_name() && find_name(content); }
  /// The same for a file that has been found without a name, and could not get another one.
  void try_again(const Content& content) {
    if (!why_none_.empty()) find_name(content);
  }
  /// "", or what has become of the file and why it has no name now.
  const std::string& why_none() const { return why_none_; }

 private:
  bool find_name(const Content& content);

  OutputFile& output_;
  CommittedFile& file_;
  Host host_;
  std::string why_none_;
};

}  // namespace leat::hdf5
