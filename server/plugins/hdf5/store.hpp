// SPDX-License-Identifier: Apache-2.0
// One HDF5 file for one run on one node.
//
// Can be opened at any moment: /iteration gets the number of an iteration after all else of it,
// then everything is flushed, so each row of it stands for data that are in the file. HDF5's own
// file lock is off, since it would keep readers out while we write (another run is kept out by
// OutputFile). The file format is that of HDF5 1.8: later ones mark a file as open for writing, and
// a killed writer would leave it so, unreadable without a repair tool. Metadata stay in a large
// cache between flushes, so a reader does not meet them half written, except in the milliseconds of
// a flush itself.
#pragma once

#include <map>
#include <memory>

#include "server/plugins/hdf5/output_file.hpp"
#include "server/plugins/hdf5/writer.hpp"

namespace leat::hdf5 {

class Store {
 public:
  Store(const leat_run& run, Host host);
  Store(Store&&) = default;
  ~Store();
  void iteration(const leat_iteration_data& data);
  void close();

 private:
  struct Open;  // what is closed together, before the file

  void write_attributes(const leat_run& run);
  void reserve(std::uint64_t bytes);
  std::string write_variable(const BlockList& blocks);
  void finish_row(const leat_iteration_data& data, bool whole);

  const leat_run& run_;
  Host host_;
  OutputFile output_;
  Id file_;
  std::unique_ptr<Open> open_;
};

}  // namespace leat::hdf5
