// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

std::string last_errno() { return std::strerror(errno); }

bool is_same_file(int fd, const std::string& path) {
  struct stat open_one, named_one;
  return fstat(fd, &open_one) == 0 && stat(path.c_str(), &named_one) == 0 &&
         open_one.st_ino == named_one.st_ino && open_one.st_dev == named_one.st_dev;
}

fs::path unused_name(const fs::path& path) {
  for (int number = 1;; ++number) {
    fs::path name = path;
    name.replace_extension("." + std::to_string(number) + path.extension().string());
    if (!fs::exists(name)) return name;
  }
}

void make_room(const std::string& path, const std::string& exists, const Host& host) {
  if (!fs::exists(path)) return;
  if (fs::is_directory(path)) throw std::runtime_error("cannot write " + path + ": it is a folder");
  if (exists == "replace") {
    fs::remove(path);
    return;
  }
  const fs::path kept = unused_name(path);
  fs::rename(path, kept);
  host.info(path + " was there already and is called " + kept.string() + " now");
}

std::string with_session(const std::string& path, const std::string& session) {
  fs::path other = path;
  other.replace_extension("-" + session + other.extension().string());
  // replace_extension puts a '.' in front of what has none.
  std::string name = other.string();
  const std::size_t dot = name.rfind(".-" + session);
  if (dot != std::string::npos) name.erase(dot, 1);
  return name;
}

}  // namespace

OutputFile::OutputFile(const leat_run& run, const Host& host) {
  const auto value = [&run](const char* name, const std::string& otherwise) {
    return option(run.options, run.option_count, name, otherwise);
  };
  const std::string folder = value("folder", ".");
  const std::string wanted =
      (fs::path(folder) / value("file", std::string(run.simulation) + ".h5")).lexically_normal();
  if (!fs::is_directory(folder)) {
    throw std::runtime_error("the output folder \"" + fs::absolute(folder).string() + "\" " +
                             (fs::exists(folder) ? "is not a folder" : "does not exist") +
                             ": make it before the run, or change folder=\"...\" of the store");
  }
  path_ = wanted;
  if (!lock(path_)) {
    path_ = with_session(wanted, run.session);
    host.warn(wanted + " is being written by another run; this run writes " + path_);
    if (!lock(path_)) throw std::runtime_error(path_ + " is being written by another run too");
  }
  make_room(path_, value("exists", "keep"), host);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      lock_path_(std::move(other.lock_path_)),
      lock_(std::exchange(other.lock_, -1)) {}

OutputFile::~OutputFile() {
  if (lock_ < 0) return;
  ::unlink(lock_path_.c_str());
  ::close(lock_);
}

// False when another run holds it.
bool OutputFile::lock(const std::string& path) {
  const fs::path file = path;
  lock_path_ = (file.parent_path() / ("." + file.filename().string() + ".lock")).string();
  for (;;) {
    const int fd = ::open(lock_path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0)
      throw std::runtime_error("cannot write into the output folder \"" +
                               fs::absolute(file).parent_path().string() + "\": " + last_errno());
    const bool held = flock(fd, LOCK_EX | LOCK_NB) != 0 &&
                      errno == EWOULDBLOCK;  // others: no locks on this file system
    if (held) {
      ::close(fd);
      return false;
    }
    // Its last owner may have removed the file between our open and our lock: then we have locked
    // nothing.
    if (is_same_file(fd, lock_path_)) {
      lock_ = fd;
      return true;
    }
    ::close(fd);
  }
}

}  // namespace leat::hdf5
