// SPDX-License-Identifier: Apache-2.0
#include "description.hpp"

#include <leat_build.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "Damaris.h"

namespace leat::damaris {
namespace {

bool is_text(const std::string& config) {
  const std::size_t first = config.find_first_not_of(" \t\r\n");
  return first != std::string::npos && config[first] == '<';
}

// A process of the same number, on another node, may have one in the same folder.
std::FILE* new_file(std::string* path) {
  const std::string begin = "damaris-" + std::to_string(getpid());
  std::FILE* file = nullptr;
  for (int number = 1; !file && number < 100; ++number) {
    *path = begin + (number > 1 ? "-" + std::to_string(number) : "") + ".xml";
    file = std::fopen(path->c_str(), "wx");
    if (!file && errno != EEXIST) break;
  }
  return file;
}

// Fills `*path` with what it is called.
bool write_file(std::string* path, const std::string& text) {
  std::FILE* const file = new_file(path);
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && std::fclose(file) == 0 && written) return true;
  std::fprintf(
      stderr,
      "leat: damaris_initialize: the XML that was given as a text cannot be written to %s: "
      "%s; start the program in a folder that it may write to, or give it a path\n",
      path->c_str(), std::strerror(errno));
  return false;
}

// To all ranks; a length below 0 says that there is none.
bool broadcast(std::string* text, bool is_there, MPI_Comm comm) {
  std::int64_t length = is_there ? static_cast<std::int64_t>(text->size()) : -1;
  MPI_Bcast(&length, 1, MPI_INT64_T, 0, comm);
  if (length < 0) return false;
  text->resize(static_cast<std::size_t>(length));
  MPI_Bcast(text->data(), static_cast<int>(length), MPI_CHAR, 0, comm);
  return true;
}

}  // namespace

bool GivenXml::take(const char* config, MPI_Comm comm) {
  is_given_ = config != nullptr;
  path_ = config ? config : "";
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  bool is_there = true;
  if (rank == 0 && is_text(path_)) {
    const std::string text = std::move(path_);
    is_there = is_own_ = write_file(&path_, text);
  }
  is_there = broadcast(&path_, is_there, comm);
  is_given_ = is_given_ || !path_.empty();
  return is_there;
}

void GivenXml::remove() {
  if (is_own_) ::unlink(path_.c_str());
  is_own_ = false;
}

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string unescaped(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool escaped = line[i] == '\\' && i + 1 < line.size();
    const char c = escaped ? line[++i] : line[i];
    text += !escaped ? c : c == 't' ? '\t' : c == 'n' ? '\n' : c;
  }
  return text;
}

Value value_of(const std::string& kind, const std::string& text) {
  if (kind == "int") return std::int64_t{std::strtoll(text.c_str(), nullptr, 10)};
  if (kind == "double") return std::strtod(text.c_str(), nullptr);
  return unescaped(text);
}

int type_of(const std::string& word) {
  static const std::map<std::string, int> kTypes = {
      {"int8", DAMARIS_TYPE_CHAR},     {"int16", DAMARIS_TYPE_SHORT},
      {"int32", DAMARIS_TYPE_INT},     {"int64", DAMARIS_TYPE_LONG},
      {"uint8", DAMARIS_TYPE_UCHAR},   {"uint16", DAMARIS_TYPE_USHORT},
      {"uint32", DAMARIS_TYPE_UINT},   {"uint64", DAMARIS_TYPE_ULONG},
      {"float32", DAMARIS_TYPE_FLOAT}, {"float64", DAMARIS_TYPE_DOUBLE},
      {"char", DAMARIS_TYPE_CHAR}};
  const auto found = kTypes.find(word);
  return found == kTypes.end() ? int{DAMARIS_TYPE_UNDEFINED} : found->second;
}

}  // namespace

Description parse_description(const std::string& text) {
  Description description;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split(line, '\t');
    if (words[0] == "parameter" && words.size() >= 3) {
      const bool known = words.size() > 3;
      description.parameters[words[1]] = {value_of(words[2], known ? words[3] : ""), known};
    } else if (words[0] == "place" && words.size() >= 2) {
      description.ranks_serve |= words[1] == "ranks";
    } else if (words[0] == "staging" && words.size() >= 2) {
      description.ranks_serve |= words[1] != "0";
    } else if (words[0] == "type" && words.size() >= 3) {
      description.types[words[1]] = type_of(words[2]);
    } else if (words[0] == "variable" && words.size() >= 3) {
      const long blocks = std::strtol(words[2].c_str(), nullptr, 10);
      description.placed[words[1]] = static_cast<std::uint32_t>(blocks);
    }
  }
  return description;
}

bool ask_for_description(const char* config, MPI_Comm comm, Description* description) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  char* answer = nullptr;
  std::int64_t bytes = -1;
  if (rank == 0 && leat_describe(config, &answer) == LEAT_OK)
    bytes = static_cast<std::int64_t>(std::string(answer).size());
  MPI_Bcast(&bytes, 1, MPI_INT64_T, 0, comm);
  if (bytes < 0) return false;
  std::string text(static_cast<std::size_t>(bytes), ' ');
  if (answer) text = answer;
  std::free(answer);
  MPI_Bcast(text.data(), static_cast<int>(bytes), MPI_CHAR, 0, comm);
  *description = parse_description(text);
  return true;
}

}  // namespace leat::damaris
