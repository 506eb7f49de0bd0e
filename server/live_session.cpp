// SPDX-License-Identifier: Apache-2.0
#include "server/live_session.hpp"

#include <unistd.h>

#include "lib/platform/file_lock.hpp"
#include "lib/platform/leftovers.hpp"
#include "lib/platform/segment_name.hpp"
#include "lib/shm/segment.hpp"

namespace leat::server {
namespace {

// A server that is just ending holds its lock a moment longer than its socket.
constexpr std::int64_t kLockLimitNs = 5'000'000'000;

}  // namespace

Result<LiveSession> LiveSession::begin(const std::string& session, const std::string& take_over) {
  Result<std::string> folder = platform::runtime_folder();
  if (!folder) return folder.error();
  platform::sweep({*folder}, platform::Sweep::remove);
  const platform::SessionFiles files = platform::session_files(*folder, session);
  platform::UniqueFd lock = platform::lock_file(files.live, kLockLimitNs);
  if (!lock) {
    return Error{Status::ERROR_STATE,
                 "session " + session + " has a server on this node already (" + files.live + ")"};
  }
  // Looked for with the lock held: from here on no other server of this session comes.
  const std::string orphan = platform::orphaned_segment({*folder}, session, take_over);
  if (!take_over.empty() && orphan != take_over) {
    ::unlink(files.live.c_str());
    return Error{Status::ERROR_SERVER, "segment " + take_over + " of session " + session +
                                           " is gone: its server has ended, or no rank is left"};
  }
  const bool is_orphan = !orphan.empty();
  if (!is_orphan) ::unlink(files.journal.c_str());
  const std::string segment =
      is_orphan ? orphan : platform::text_of({session, platform::this_process()});
  const bool written =
      ftruncate(lock.get(), 0) == 0 &&
      pwrite(lock.get(), segment.data(), segment.size(), 0) == static_cast<ssize_t>(segment.size());
  if (!written) {
    return Error{Status::ERROR_SYSTEM, "cannot write " + files.live + ": is the disk full?"};
  }
  return LiveSession(session, files, segment, is_orphan, std::move(lock));
}

LiveSession::~LiveSession() {
  if (!lock_) return;
  shm::Segment::remove(segment_);
  ::unlink(files_.socket.c_str());
  ::unlink(files_.journal.c_str());
  ::unlink(files_.live.c_str());
}

}  // namespace leat::server
