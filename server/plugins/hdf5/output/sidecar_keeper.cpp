// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/sidecar_keeper.hpp"

#include "server/plugins/hdf5/base/plain_file.hpp"
#include "server/plugins/hdf5/output/refresh_interval.hpp"

namespace leat::hdf5::xdmf {

void SidecarKeeper::after_commit(hid_t file, const std::string& path) {
  const Clock::time_point begin = Clock::now();
  if (begin < next_) return;
  guarded(path, [&] { return make_sidecar(file, run_, path, maker_, progress_); });
  const Clock::time_point end = Clock::now();
  next_ = end + refresh_interval(end - begin);
}

void SidecarKeeper::at_close(const std::string& path) {
  guarded(path, [&] {
    const Id file = open_plain(path, "cannot open " + path);
    const Facts facts = make_sidecar(file, run_, path, maker_, progress_);
    if (facts.steps == 0)
      throw std::runtime_error("nothing that is on a mesh and can be shown was written");
    return facts;
  });
}

void SidecarKeeper::guarded(const std::string& path, const std::function<Facts()>& make) {
  try {
    for (const std::string& what : make().left_out) {
      if (told_.insert(what).second) host_.info(sidecar_of(path) + " is without the " + what);
    }
  } catch (const std::exception& e) {
    if (told_.insert(e.what()).second)
      host_.warn(sidecar_of(path) + " could not be made: " + e.what() + "; `leat xdmf " + path +
                 "` makes it");
  }
}

}  // namespace leat::hdf5::xdmf
