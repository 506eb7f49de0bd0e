// SPDX-License-Identifier: Apache-2.0
// The store with layout="damaris": a file for each iteration.
#pragma once

#include <string>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/arrays/writer.hpp"
#include "server/plugins/hdf5/disk/committed_file.hpp"
#include "server/plugins/hdf5/output/cell_order.hpp"
#include "server/plugins/hdf5/output/damaris_names.hpp"
#include "server/plugins/hdf5/output/options.hpp"

namespace leat::hdf5 {

// The file of one iteration of a store with layout="damaris". In it are
//
//   <variable>/P<rank>             a block, without its ghosts, where each rank has one
//   <variable>/P<rank>/B<block>    where it has several
//   <variable>                     in a file of FileMode::collective: all blocks of a global array, or
//                                  the one that is the same on all ranks. Where select-file names an
//                                  index for it, its values are in the order of that
//
// It has its name when all is in it, and none before that: who is killed in between leaves nothing.

class DamarisFile {
 public:
  struct Plan {
    FileMode mode = FileMode::per_server;
    bool several_blocks = false;  ///< each rank may have several, as the XML says
  };
  /// Throws when it cannot be made.
  DamarisFile(const std::string& path, const leat_run& run, const Host& host, const Plan& plan,
              CellOrder* order);
  DamarisFile(const DamarisFile&) = delete;

  /// Returns what of it could not be written, "" for nothing; throws when it is the file's fault.
  std::string write(const leat_iteration_data& data, const std::vector<BlockList>& by_variable);
  /// It gets its name, or nothing of it is left: then it throws.
  void publish();

 private:
  void describe(const leat_iteration_data& data, bool whole);
  void write_variable(SoundBlocks* blocks);
  void write_blocks(const leat_variable& variable, SoundBlocks* blocks);
  void write_block(const leat_variable& variable, std::uint32_t number, const leat_block& block,
                   const std::string& place);
  void write_whole(const leat_variable& variable, SoundBlocks* blocks);
  void write_in_order(const leat_variable& variable, SoundBlocks* blocks);
  Dataset make_whole(const leat_variable& variable, const SoundBlocks& blocks, bool has_holes);

  std::string path_;
  const leat_run& run_;
  Plan plan_;
  CellOrder* order_;
  std::unique_ptr<CommittedFile> disk_;
  Id file_;
};

// The store with layout="damaris": a file for each iteration, as readers of Damaris' files expect
// them (DamarisFile says what is in one, damaris_names.hpp what it is called).
//
// An iteration is stored when its file has its name. In a resumed run one that has it is not written
// again; what the dead writer had begun has no name, and went with it.

class DamarisStore {
 public:
  DamarisStore(const leat_run& run, Host host);
  /// Whether the blocks of a variable become one array by their positions.
  static bool makes_whole(const leat_run& run, std::uint64_t variable);
  void iteration(const leat_iteration_data& data);
  void close() {}
  /// There is no place for what scripts and plugins make: says so once.
  void results(const leat_result_set& set);

 private:
  const leat_run& run_;
  Host host_;
  std::vector<int> places_;
  DamarisFile::Plan plan_;
  DamarisNames names_;
  CellOrder order_;
  bool warned_of_results_ = false;
};

}  // namespace leat::hdf5
