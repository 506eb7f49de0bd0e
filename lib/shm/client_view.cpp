// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/client_view.hpp"

#include <cerrno>
#include <cstring>

#include "lib/platform/page_protection.hpp"

namespace leat::shm {

Result<void> protect_from_client(const Segment& segment, std::uint32_t index) {
  const SegmentHeader& header = segment.header();
  const ClientArea own = segment.client(index);
  const auto protect = [&](std::uint64_t begin, char* end) {
    return platform::make_read_only(segment.at<char>(begin), end);
  };
  const bool done = protect(0, segment.at<char>(header.steering_offset)) &&
                    protect(header.stores_offset, reinterpret_cast<char*>(own.client)) &&
                    platform::make_read_only(reinterpret_cast<char*>(own.releases),
                                             segment.at<char>(header.data_offset));
  if (done) return {};
  return Error{Status::ERROR_SYSTEM, std::string("cannot make the shared segment read-only where "
                                                 "only its server writes: ") +
                                         std::strerror(errno)};
}

}  // namespace leat::shm
