// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/named_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "server/plugins/hdf5/disk/copy_content.hpp"
#include "server/plugins/hdf5/disk/durability.hpp"

namespace leat::hdf5 {

NamedFile::NamedFile(const FilePlace& place, bool is_new)
    : place_(place), fd_(is_new ? new_.make(place) : place.open(O_RDWR)) {
  if (!fd_.is_open())
    throw std::runtime_error("cannot open " + place.path() + ": " + std::strerror(errno));
  note_identity();
}

void NamedFile::note_identity() {
  struct stat facts {};
  if (fstat(fd_, &facts) != 0) return;
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
}

std::string NamedFile::name_now() const {
  std::error_code unknown;
  const std::string path =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd_), unknown);
  return !unknown && is_at(path) ? path : "";
}

int NamedFile::move_to(const FilePlace& place, bool durable) {
  int code = is_at(place) ? 0 : place.give_to(fd_);
  if (code != 0 && code != EEXIST) code = copy_to(place, durable);
  if (code != 0) return code;
  place_ = place;
  name_is_safe_ = false;
  return 0;
}

// All who write go on with the copy, by the descriptor that they have.
int NamedFile::copy_to(const FilePlace& place, bool durable) {
  NewFile copy;
  const Descriptor fd(copy.make(place));
  if (!fd.is_open()) return errno;
  struct stat facts {};
  int code = fstat(fd_, &facts) == 0 ? 0 : errno;
  if (code == 0) code = copy_content(fd_, fd, static_cast<std::uint64_t>(facts.st_size));
  if (code == 0 && durable) code = sync_data(fd);
  if (code == 0) code = copy.publish(fd);
  if (code == 0 && ::dup3(fd, fd_, O_CLOEXEC) < 0) code = errno;
  if (code == 0) note_identity();
  return code;
}

int NamedFile::sync_name() {
  if (name_is_safe_ || !new_.is_published()) return 0;
  const int code = place_.sync_folder();
  name_is_safe_ = code == 0;
  return code;
}

}  // namespace leat::hdf5
