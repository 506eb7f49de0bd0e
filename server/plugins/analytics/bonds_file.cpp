// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/analytics/bonds_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace leat::analytics {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

void write_to(int file, const std::string& path, const void* data, std::size_t bytes) {
  for (const auto* at = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t written = ::write(file, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(path);
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

}  // namespace

BondsFile::BondsFile(const leat_run& run)
    : path_(std::string(run.store) + "-" + run.session + "-" +
            std::to_string(leat_run_number(&run)) + "-" +
            std::to_string(leat_run_first_rank(&run)) + ".bonds") {}

void BondsFile::remove() const { ::unlink(path_.c_str()); }

std::optional<std::vector<Pair>> BondsFile::read() const {
  std::ifstream file(path_, std::ios::binary);
  std::uint64_t count = 0;
  file.read(reinterpret_cast<char*>(&count), sizeof count);
  if (!file) return std::nullopt;
  std::vector<Pair> bonds(count);
  file.read(reinterpret_cast<char*>(bonds.data()),
            static_cast<std::streamsize>(count * sizeof(Pair)));
  if (!file) return std::nullopt;
  return bonds;
}

// Whole under its name, or not there.
void BondsFile::write(const std::vector<Pair>& bonds) const {
  const std::string part = path_ + ".part";
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail(part);
  try {
    const std::uint64_t count = bonds.size();
    write_to(file, part, &count, sizeof count);
    write_to(file, part, bonds.data(), count * sizeof(Pair));
    if (::fsync(file) != 0) fail(part);
  } catch (...) {
    ::close(file);
    ::unlink(part.c_str());
    throw;
  }
  ::close(file);
  if (std::rename(part.c_str(), path_.c_str()) != 0) fail(path_);
}

}  // namespace leat::analytics
