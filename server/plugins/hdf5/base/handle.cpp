// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {
namespace {

herr_t keep_description(unsigned, const H5E_error2_t* entry, void* text) {
  if (entry->desc && *entry->desc) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

// "file write failed: time = ..., filename = 'run.h5', ..., errno = 28, error message = 'No space
// left on device', ..." is all one description: the reader wants its first part and the system's
// words.
std::string shortened(const std::string& text) {
  const std::string key = "error message = '";
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return text;
  const std::size_t begin = at + key.size();
  return text.substr(0, text.find(':')) + ": " + text.substr(begin, text.find('\'', begin) - begin);
}

}  // namespace

std::string innermost_error() {
  std::string text;
  // Downward ends at the innermost function, so that its text is the one that stays.
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_description, &text);
  H5Eclear2(H5E_DEFAULT);
  return shortened(text);
}

void be_quiet() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

void fail(const std::string& what) {
  const std::string reason = innermost_error();
  throw std::runtime_error(reason.empty() ? what : what + ": " + reason);
}

}  // namespace leat::hdf5
