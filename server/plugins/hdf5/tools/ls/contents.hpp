// SPDX-License-Identifier: Apache-2.0
// Which things in a file are what.
#pragma once

#include <hdf5.h>

#include <map>
#include <string>
#include <vector>

#include "server/plugins/hdf5/tools/ls/dataset_facts.hpp"

namespace leat::hdf5 {

/// Names of datasets, as paths without the first '/', each in the order of the alphabet.
struct Contents {
  std::vector<std::string> variables;                       ///< of the run, as their attributes say
  std::vector<std::string> parameters;                      ///< the same
  std::map<std::string, std::vector<std::string>> results;  ///< by group: "scripts/x", "products/y"
  std::vector<std::string> others;  ///< neither these, nor what belongs to them
  std::string iterations;           ///< "" when the file has none
  std::string complete;             ///< says for each iteration whether it is
  std::string ledger;
  std::vector<std::string> vtkhdf;  ///< groups for VTK, whose datasets are nowhere else here
  Names names;                      ///< of all datasets but those for VTK
  std::map<std::string, std::string> written;  ///< by variable: in which iterations it was
};

/// Of a file that Leat has written: what belongs to variables and dimensions is sorted out. Else
/// all datasets are `others`.
Contents contents_of(hid_t file, bool made_by_leat);

}  // namespace leat::hdf5
