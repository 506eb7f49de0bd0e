// SPDX-License-Identifier: Apache-2.0
// One HDF5 file for one run on one node.
//
// Can be opened at any moment, by any reader. /iteration gets the number of an iteration after all
// else of it is in the file, so each of its rows stands for data that are there; CommittedFile sees
// to it that a reader, or the kill of the writer, meets no half-written structure. For that HDF5
// must never use a place twice: free space is not managed, and compressed chunks are made such that
// they are written once. The file format is that of HDF5 1.8: the single-writer mode of later ones
// marks a file as open for writing, and a killed writer leaves it so, unreadable without a repair
// tool.
#pragma once

#include <map>
#include <memory>

#include "server/plugins/hdf5/committed_file.hpp"
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
  void results(const leat_result_set& set);

 private:
  struct Open;  // what is closed together, before the file

  void write_attributes(const leat_run& run);
  void make_room(const leat_iteration_data& data);
  std::string write_variable(const BlockList& blocks);
  void finish_row(const leat_iteration_data& data, bool whole);
  void commit();
  void keep_ledger();

  const leat_run& run_;
  Host host_;
  OutputFile output_;
  std::unique_ptr<CommittedFile> disk_;
  Id file_;
  std::unique_ptr<Open> open_;
};

}  // namespace leat::hdf5
