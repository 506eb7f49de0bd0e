// SPDX-License-Identifier: Apache-2.0
#include "lib/model/diagnostics.hpp"

#include <algorithm>
#include <tuple>

#include "lib/model/reader.hpp"

namespace leat::model {

void DiagnosticList::error(const SourceLocation& where, std::string message) {
  all_.push_back({Severity::error, where, std::move(message)});
  ++errors_;
}

void DiagnosticList::warning(const SourceLocation& where, std::string message) {
  all_.push_back({Severity::warning, where, std::move(message)});
}

void DiagnosticList::note(const SourceLocation& where, std::string message) {
  all_.push_back({Severity::note, where, std::move(message)});
}

void DiagnosticList::file_opened(const std::string& file) {
  if (file_rank(file) == files_.size()) files_.push_back(file);
}

std::size_t DiagnosticList::file_rank(const std::string& file) const {
  return static_cast<std::size_t>(std::find(files_.begin(), files_.end(), file) - files_.begin());
}

std::vector<Diagnostic> DiagnosticList::sorted() const {
  const auto place = [this](const Diagnostic& d) {
    return std::make_tuple(file_rank(d.where.file), d.where.line, d.where.column);
  };
  std::vector<Diagnostic> result = all_;
  std::stable_sort(result.begin(), result.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
  // What stands in one place for several variables is wrong once.
  const auto is_said = [&](const Diagnostic& a, const Diagnostic& b) {
    return place(a) == place(b) && a.severity == b.severity && a.message == b.message;
  };
  result.erase(std::unique(result.begin(), result.end(), is_said), result.end());
  return result;
}

std::string line_of(const SourceLocation& there, const SourceLocation& seen_from) {
  const std::string line = std::to_string(there.line);
  return there.file == seen_from.file ? "line " + line : there.file + ":" + line;
}

namespace {

std::string prefix_of(const SourceLocation& where) {
  std::string text = where.file;
  if (where.line > 0) text += ":" + std::to_string(where.line);
  if (where.line > 0 && where.column > 0) text += ":" + std::to_string(where.column);
  return text.empty() ? text : text + ": ";
}

}  // namespace

std::string for_log(const Diagnostic& diagnostic) {
  return prefix_of(diagnostic.where) + diagnostic.message;
}

std::string Diagnostic::str() const {
  const std::string text = prefix_of(where);
  switch (severity) {
    case Severity::error:
      return text + "error: " + message;
    case Severity::warning:
      return text + "warning: " + message;
    case Severity::note:
      return text + "note: " + message;
  }
  return text + message;
}

std::string format(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Severity wanted : {Severity::error, Severity::warning, Severity::note}) {
    for (const Diagnostic& diagnostic : diagnostics) {
      if (diagnostic.severity == wanted) text += diagnostic.str() + "\n";
    }
  }
  return text;
}

}  // namespace leat::model
