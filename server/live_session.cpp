// SPDX-License-Identifier: Apache-2.0
#include "server/live_session.hpp"

#include <unistd.h>

#include "lib/shm/segment.hpp"

namespace leat::server {
namespace {

// A server that is just ending holds its lock a moment longer than its socket.
constexpr std::int64_t kLockLimitNs = 5'000'000'000;

void remove_segment(const std::string& name) { shm::Segment::remove(name); }

}  // namespace

Result<LiveSession> LiveSession::begin(const std::string& session) {
  Result<std::string> folder = platform::runtime_folder();
  if (!folder) return folder.error();
  platform::remove_dead_sessions(*folder, remove_segment);
  const platform::SessionFiles files = platform::session_files(*folder, session);
  platform::UniqueFd lock = platform::lock_file(files.live, kLockLimitNs);
  if (!lock) {
    return Error{Status::ERROR_STATE,
                 "session " + session + " has a server on this node already (" + files.live + ")"};
  }
  const std::string segment =
      "leat-" + std::to_string(geteuid()) + "-" + session + "-" + std::to_string(getpid());
  // Written before the segment exists: whoever finds this file later can remove it.
  const bool written =
      ftruncate(lock.get(), 0) == 0 &&
      pwrite(lock.get(), segment.data(), segment.size(), 0) == static_cast<ssize_t>(segment.size());
  if (!written) {
    return Error{Status::ERROR_SYSTEM, "cannot write " + files.live + ": is the disk full?"};
  }
  return LiveSession(files, segment, std::move(lock));
}

LiveSession::~LiveSession() {
  if (!lock_) return;
  shm::Segment::remove(segment_);
  ::unlink(files_.socket.c_str());
  ::unlink(files_.live.c_str());
}

}  // namespace leat::server
