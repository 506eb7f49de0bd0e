// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/name_keeper.hpp"

namespace leat::hdf5 {

std::string described_iterations(const std::vector<std::int64_t>& ascending) {
  if (ascending.empty()) return "no iterations";
  const std::string first = std::to_string(ascending.front());
  if (ascending.size() == 1) return "iteration " + first;
  return std::to_string(ascending.size()) + " iterations, " + first + " to " +
         std::to_string(ascending.back());
}

bool NameKeeper::find_name(const Content& content) {
  const std::string was = output_.path(), now = file_.named().name_now();
  const std::string what =
      was + (now.empty() ? " was removed or replaced while this run was writing it"
                         : " was renamed to " + now + " while this run was writing it");
  const std::string why = output_.name_again(&file_);
  if (why.empty()) {
    why_none_.clear();
    host_.warn(what + ": " + output_.path() +
               (now.empty() ? " was written anew, with " + content() : " is the same file now") +
               ", and the run goes on there");
    return true;
  }
  const bool is_known = !why_none_.empty();
  why_none_ = what + ", and cannot be written anew: " + why + "; lost with it: " + content();
  if (!is_known) host_.error(why_none_ + ", unless it can before the run ends");
  return false;
}

}  // namespace leat::hdf5
