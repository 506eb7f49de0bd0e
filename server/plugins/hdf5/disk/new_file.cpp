// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/new_file.hpp"

namespace leat::hdf5 {

int NewFile::make(const FilePlace& place) {
  const FilePlace part = place.beside(".part");
  part.remove();
  int fd = place.make_unnamed();
  if (fd < 0) {
    fd = part.make();
    if (fd >= 0) part_ = part;
  }
  if (fd >= 0) place_ = place;
  return fd;
}

int NewFile::publish(int fd) {
  const int code = part_ ? part_->rename_to_new(*place_) : place_->give_to(fd);
  if (code != 0) return code;
  place_.reset();
  part_.reset();
  return 0;
}

void NewFile::give_up() {
  if (part_) part_->remove();
  place_.reset();
  part_.reset();
}

NewFile::~NewFile() { give_up(); }

}  // namespace leat::hdf5
