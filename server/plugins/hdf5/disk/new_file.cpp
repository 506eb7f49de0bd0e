// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/new_file.hpp"

namespace leat::hdf5 {
namespace {

FilePlace part_of(const FilePlace& place) { return place.beside(".part"); }

}  // namespace

int NewFile::make(const FilePlace& place) {
  const FilePlace part = part_of(place);
  part.remove();
  int fd = place.make_unnamed();
  has_part_ = fd < 0;
  if (has_part_) fd = part.make();
  if (fd >= 0) place_ = place;
  return fd;
}

int NewFile::publish(int fd) {
  const int code = has_part_ ? part_of(*place_).rename_to_new(*place_) : place_->give_to(fd);
  if (code == 0) place_.reset();
  return code;
}

void NewFile::give_up() {
  if (place_ && has_part_) part_of(*place_).remove();
  place_.reset();
}

}  // namespace leat::hdf5
