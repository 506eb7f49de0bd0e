// SPDX-License-Identifier: Apache-2.0
// The store with layout="damaris": a file for each iteration, as readers of Damaris' files expect
// them (damaris_file.hpp says what is in one, damaris_names.hpp what it is called).
//
// An iteration is stored when its file has its name. In a resumed run one that has it is not written
// again; what the dead writer had begun has no name, and went with it.
#pragma once

#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/output/damaris_file.hpp"
#include "server/plugins/hdf5/output/damaris_names.hpp"

namespace leat::hdf5 {

class DamarisStore {
 public:
  DamarisStore(const leat_run& run, Host host);
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
  bool said_results_ = false;
};

}  // namespace leat::hdf5
