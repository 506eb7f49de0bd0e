// SPDX-License-Identifier: Apache-2.0
// A program's template of an XML, and the XML that it becomes. Header only, C++11:
//
//   std::string text = R"(<simulation name="_NAME_" ...)";
//   damaris::model::ModifyModel model(text);
//   model.RepalceWithRegEx({{"_NAME_", "heat"}});
//   if (rank == 0) model.SaveXMLStringToFile("heat.xml");
//   damaris_initialize("heat.xml", comm);                       // or model.GetConfigString().c_str()
//
// Nothing of it throws but std::bad_alloc.
#pragma once

#include <Damaris.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace damaris {
namespace model {

class ModifyModel {
 public:
  ModifyModel() = default;
  explicit ModifyModel(const std::string& input_xml) : xml_(input_xml) {}

  void SetXMLstring(const std::string& input_xml) { xml_ = input_xml; }

  /// Puts the value of each key, in their order, wherever the key begins a word: not where a letter, a digit
  /// or "_" stands before it, so that "_SCRIPT_" leaves "_PARAVIEW_SCRIPT_" as it is. The name is Damaris'.
  /// Keys and values are what they are, no expressions.
  void RepalceWithRegEx(const std::map<std::string, std::string>& find_and_replace) {
    for (const auto& each : find_and_replace) replace(each.first, each.second);
  }

  std::string& GetConfigString() { return xml_; }
  const std::string& GetConfigString() const { return xml_; }

  /// Where it cannot be written the reason is said on standard error, as Damaris does not, and false is returned.
  bool SaveXMLStringToFile(const std::string& filename) const {
    std::FILE* const file = std::fopen(filename.c_str(), "w");
    const bool written = file && std::fwrite(xml_.data(), 1, xml_.size(), file) == xml_.size();
    if (file && std::fclose(file) == 0 && written) return true;
    return failed("cannot write", filename);
  }

  /// Collective: the XML of a file that the first rank reads. False, and said there, when it cannot.
  bool ReadAndBroadcastXMLFromFile(const MPI_Comm& comm, const std::string& uri) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    std::string text;
    std::int64_t length = -1;
    if (rank == 0 && read(uri, &text)) length = static_cast<std::int64_t>(text.size());
    MPI_Bcast(&length, 1, MPI_INT64_T, 0, comm);
    if (length < 0) return false;
    text.resize(static_cast<std::size_t>(length));
    if (length > 0) MPI_Bcast(&text[0], static_cast<int>(length), MPI_CHAR, 0, comm);
    xml_.swap(text);
    return true;
  }

 private:
  static bool is_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  void replace(const std::string& key, const std::string& value) {
    if (key.empty()) return;
    for (std::size_t at = xml_.find(key); at != std::string::npos; at = xml_.find(key, at)) {
      if (at > 0 && is_of_word(xml_[at - 1]) && is_of_word(key[0])) {
        ++at;
        continue;
      }
      xml_.replace(at, key.size(), value);
      at += value.size();  // what a value says of its own key stays
    }
  }

  static bool read(const std::string& path, std::string* text) {
    std::FILE* const file = std::fopen(path.c_str(), "r");
    if (!file) return failed("cannot read", path);
    char part[4096];
    for (std::size_t got = 1; got > 0;) {
      got = std::fread(part, 1, sizeof part, file);
      text->append(part, got);
    }
    const bool wrong = std::ferror(file) != 0;
    std::fclose(file);
    return wrong ? failed("cannot read", path) : true;
  }

  static bool failed(const char* what, const std::string& path) {
    std::fprintf(stderr, "leat: damaris::model::ModifyModel: %s %s: %s\n", what, path.c_str(),
                 std::strerror(errno));
    return false;
  }

  std::string xml_;
};

}  // namespace model
}  // namespace damaris
