// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/job/page_pool.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/bench/job/output.hpp"

namespace leat::bench {

PagePool::PagePool(const std::string& path) {
  if (path.empty()) return;
  fd_ = os::UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat facts {};
  if (!fd_ || fstat(fd_.get(), &facts) != 0 || unlink(path.c_str()) != 0) give_up("no " + path);
  left_ = static_cast<std::size_t>(facts.st_size);
}

void PagePool::give_back(std::size_t bytes) {
  if (!fd_) return;
  left_ -= std::min(left_, bytes);
  if (ftruncate(fd_.get(), static_cast<off_t>(left_)) != 0) give_up("ftruncate");
}

}  // namespace leat::bench
