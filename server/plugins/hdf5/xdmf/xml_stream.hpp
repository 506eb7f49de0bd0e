// SPDX-License-Identifier: Apache-2.0
// XML that goes to a file while it is made: a run of many iterations has more of it than memory
// should hold, and no library that plugins have writes XML without a tree of all of it. What is
// put is escaped, and tags are closed in their order; nothing else of XML is needed here.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat::hdf5::xdmf {

class XmlStream {
 public:
  using Attributes = std::initializer_list<std::pair<const char*, std::string>>;

  /// Makes the file, or replaces it. Throws when it cannot.
  explicit XmlStream(const std::string& path);
  void begin(const char* tag, Attributes attributes = {});
  void end();
  /// An element of nothing but this text.
  void element(const char* tag, Attributes attributes, const std::string& text);
  /// An element that has nothing inside.
  void empty(const char* tag, Attributes attributes);
  void comment(const std::string& text);
  void break_line() { put("\n"); }
  /// Closes what is open. All is in the file then; throws when it is not.
  void finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void put(const std::string& text);
  void put_tag(const char* tag, Attributes attributes);
  [[noreturn]] void fail() const;

  std::unique_ptr<std::FILE, Close> file_;
  std::vector<const char*> open_;
};

std::string escaped(const std::string& text);
/// "<!-- text -->"
std::string comment_text(const std::string& text);
/// The shortest text that reads back as the same number.
std::string number_text(double value);

}  // namespace leat::hdf5::xdmf
