// SPDX-License-Identifier: Apache-2.0
// Collects what is wrong, so that all of it can be said at once.
#pragma once

#include <string>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model {

class DiagnosticList {
 public:
  void error(const SourceLocation& where, std::string message);
  void warning(const SourceLocation& where, std::string message);
  void note(const SourceLocation& where, std::string message);
  /// Says that `file` was read now; files are listed in this order.
  void file_opened(const std::string& file);

  bool has_errors() const { return errors_ > 0; }
  /// Everything said so far, by file and line.
  std::vector<Diagnostic> sorted() const;

 private:
  std::size_t file_rank(const std::string& file) const;

  std::vector<Diagnostic> all_;
  std::vector<std::string> files_;
  std::size_t errors_ = 0;
};

/// "line 7" when both are in the same file, else "common.xml:7".
std::string line_of(const SourceLocation& there, const SourceLocation& seen_from);

}  // namespace leat::model
