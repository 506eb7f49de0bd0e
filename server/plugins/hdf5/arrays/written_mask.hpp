// SPDX-License-Identifier: Apache-2.0
// Which iterations a variable was written in, when it was not in all of them: "<variable>_written"
// (iteration), 1 or 0. Its own dataset cannot tell fill values that a simulation wrote from none.
#pragma once

#include <string>

#include "server/plugins/hdf5/arrays/writer.hpp"

namespace leat::hdf5 {

class WrittenMask {
 public:
  /// Of a variable that is not in the file yet.
  WrittenMask() = default;
  /// Of one that is there, in a file of `rows` rows.
  WrittenMask(const Target& target, const std::string& variable, hsize_t rows);
  /// To be called with ascending rows; one that is left out counts as without the variable.
  void note(const Target& target, const std::string& variable, hsize_t row, bool written);

 private:
  void make(const Target& target, const std::string& variable);

  hsize_t rows_ = 0;  // all written, till there is a table
  Dataset table_;
};

}  // namespace leat::hdf5
