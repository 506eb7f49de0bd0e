// SPDX-License-Identifier: Apache-2.0
// A file of iterations of one size, one behind the other.
#pragma once

#include <string>

#include "lib/os/descriptor.hpp"

namespace leat::bench {

class PlainFile {
 public:
  explicit PlainFile(const std::string& path);
  int descriptor() const { return fd_.get(); }
  void write(const void* data, std::size_t bytes, std::size_t offset) const;
  void sync() const;

 private:
  os::UniqueFd fd_;
};

}  // namespace leat::bench
