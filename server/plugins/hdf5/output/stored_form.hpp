// SPDX-License-Identifier: Apache-2.0
// The run as files have it. Its meshes lie where the first iteration says that has a place for them: a file has one of each. Variables that are stored as something else (lib/base/stored_as.hpp) have the type of that, and blocks with such
// values. What writes files knows nothing of it.
//
// Beside such a variable, and one whose filter loses something, stands another one, "<variable>_error": a number for each iteration, the
// largest difference between what is stored and what was given, of the blocks of this server. As any other variable it is right in each row
// that is there, whoever wrote it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "lib/base/stored_as.hpp"
#include "server/include/plugin.hpp"

namespace leat::hdf5 {

class StoredForm {
 public:
  /// `run` outlives this. `has_errors`: with the variables of errors.
  StoredForm(const leat_run& run, bool has_errors);
  StoredForm(const StoredForm&) = delete;

  const leat_run& run() const { return run_; }
  /// Valid until the next call.
  const leat_iteration_data& of(const leat_iteration_data& data);

 private:
  struct Changed {
    StoredAs as;
    std::uint32_t from = 0;      // type in memory
    std::int64_t error_at = -1;  // number of the variable of its errors
  };

  void place_meshes(const leat_iteration_data& data);
  void change(std::uint32_t number);
  void add_errors_of(std::uint32_t number);
  std::string free_name(std::string wished) const;
  StoringLoss store(const Changed& changed, leat_block* block);
  void add_error(std::int64_t variable, double error);

  const leat_run& given_;
  leat_run run_{};
  std::vector<leat_variable> variables_;
  std::vector<leat_mesh> meshes_;
  std::deque<std::string> texts_;
  std::deque<std::vector<leat_option>> options_;
  std::map<std::uint32_t, Changed> changed_;  // by number of the variable

  // Of an iteration
  leat_iteration_data data_{};
  std::vector<leat_block> blocks_;
  std::deque<std::vector<char>> rooms_;  // kept from one iteration to the next
  std::size_t rooms_used_ = 0;
  std::deque<double> errors_;
};

/// Of a block of such a variable: more is lost, by what comes after this.
void add_to_error(const leat_block& errors, double more);

}  // namespace leat::hdf5
