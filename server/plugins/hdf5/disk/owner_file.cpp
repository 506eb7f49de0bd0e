// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/owner_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "server/plugins/common/whole_io.hpp"

namespace leat::hdf5 {
namespace {

struct Owner {
  std::string host;
  long process = 0;
  std::string start;  // of the process: its number may be used again

  bool operator==(const Owner& other) const {
    return host == other.host && process == other.process && start == other.start;
  }
};

std::string this_host() {
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  return *name ? name : "?";
}

std::string start_of(long process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int kAfterName = 20;  // of the 22nd field
  std::string field;
  for (int i = 0; i < kAfterName; ++i) fields >> field;
  return field;
}

Owner in_file(const FilePlace& place) {
  char text[512] = "";
  if (const Descriptor fd(place.open(O_RDONLY)); fd.is_open())
    (void)read_whole(fd, text, sizeof text - 1, 0);
  Owner owner;
  std::istringstream(text) >> owner.host >> owner.process >> owner.start;
  return owner;
}

bool may_live(const Owner& owner) {
  if (owner.host.empty() || owner.start.empty()) return false;  // cut off: nobody's
  return owner.host != this_host() || start_of(owner.process) == owner.start;
}

// With its text in it from the start: links are made whole or not at all, on network file systems
// too.
bool make(const FilePlace& place, const Owner& owner) {
  const std::string who = owner.host + ' ' + std::to_string(owner.process) + ' ' + owner.start;
  const FilePlace draft = place.called(place.name() + "." + owner.host + "." +
                                       std::to_string(owner.process) + "." + owner.start);
  draft.remove();
  const Descriptor fd(draft.make());
  int code = !fd.is_open() ? errno : write_whole(fd, (who + '\n').data(), who.size() + 1, 0);
  if (code == 0) code = place.give_to(fd);
  draft.remove();
  if (code != 0 && code != EEXIST)
    throw std::runtime_error("cannot write " + place.path() + ": " + std::strerror(code));
  return code == 0;
}

}  // namespace

bool claim(const FilePlace& owner_file) {
  const Owner self{this_host(), static_cast<long>(getpid()), start_of(getpid())};
  while (!make(owner_file, self)) {
    const Owner other = in_file(owner_file);
    if (may_live(other)) return false;
    if (in_file(owner_file) == other) owner_file.remove();
  }
  return true;
}

bool is_claimed(const FilePlace& owner_file) { return may_live(in_file(owner_file)); }

std::string owner_in(const FilePlace& owner_file) {
  const Owner owner = in_file(owner_file);
  if (owner.host.empty()) return "";
  return "process " + std::to_string(owner.process) + " on " + owner.host;
}

}  // namespace leat::hdf5
