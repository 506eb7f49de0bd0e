// SPDX-License-Identifier: Apache-2.0
#include "damaris-api/given_xml.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

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

}  // namespace leat::damaris
