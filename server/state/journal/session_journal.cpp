// SPDX-License-Identifier: Apache-2.0
#include "server/state/journal/session_journal.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "lib/node/runtime_folder.hpp"
#include "lib/node/stale_resources.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/folder.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/undrained.hpp"

namespace leat::server {
namespace {

// Never empty, so that a journal that was removed and made again is known; and no file of another version is read.
constexpr const char* kJournalVersion = "leat-journal-3";

std::string journal_frame(const std::string& body) {
  const auto length = static_cast<std::uint32_t>(body.size());
  std::string frame(sizeof length, '\0');
  std::memcpy(frame.data(), &length, sizeof length);
  return frame + body;
}

// Takes the next body off the text; false at its end, or where the rest is torn.
bool take_journal_body(std::string_view* text, std::string_view* body) {
  std::uint32_t length = 0;
  if (text->size() < sizeof length) return false;
  std::memcpy(&length, text->data(), sizeof length);
  if (length > text->size() - sizeof length) return false;
  *body = text->substr(sizeof length, length);
  text->remove_prefix(sizeof length + length);
  return true;
}

std::string journal_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has_journal_version(std::string_view text) {
  std::string_view body;
  return take_journal_body(&text, &body) && body == kJournalVersion;
}

}  // namespace

SessionJournal::SessionJournal(const std::string& path)
    : path_(path), file_(os::open_to_append(path, false)) {
  if (path_.empty()) return;
  is_new_ = !has_journal_version(journal_bytes(path_));
  if (is_new_ && file_) (void)!::ftruncate(file_.get(), 0);
  if (is_new_) write(journal_frame(kJournalVersion));
}

std::vector<JournalRecord> SessionJournal::read(const std::string& path) {
  const std::string text = journal_bytes(path);
  std::vector<JournalRecord> records;
  std::string_view rest = text, body;
  if (!has_journal_version(text)) return records;
  take_journal_body(&rest, &body);
  while (take_journal_body(&rest, &body)) {
    std::optional<JournalRecord> record = decode_record(body);
    if (!record) break;
    records.push_back(std::move(*record));
  }
  return records;
}

bool SessionJournal::append(const JournalRecord& record) {
  return path_.empty() || write(journal_frame(encode(record)));
}

bool SessionJournal::write(const std::string& frame) {
  const bool is_there = file_ && os::has_a_name(file_.get());
  const ssize_t written = is_there ? ::write(file_.get(), frame.data(), frame.size()) : -1;
  if (written > 0) bytes_ += static_cast<std::uint64_t>(written);
  // Behind half a record nothing is found: all of it is rewritten.
  if (written != static_cast<ssize_t>(frame.size())) broken_ = true;
  try_again_ = broken_;
  return !broken_;
}

void SessionJournal::rewrite(const std::vector<JournalRecord>& records) {
  if (path_.empty()) return;
  try_again_ = false;
  std::string all = journal_frame(kJournalVersion);
  for (const JournalRecord& record : records) all += journal_frame(encode(record));
  const std::string part = path_ + ".part";
  os::UniqueFd file = os::open_to_append(part, true);
  const bool whole =
      file && ::write(file.get(), all.data(), all.size()) == static_cast<ssize_t>(all.size());
  if (!whole || std::rename(part.c_str(), path_.c_str()) != 0) {
    ::unlink(part.c_str());  // the old one stays
    bytes_rewritten_ = bytes_;
    return;
  }
  file_ = std::move(file);
  broken_ = false;
  bytes_ = bytes_rewritten_ = all.size();
}

namespace {

// A sweep holds it for a moment, a server that ends a little longer; who starts us asks again.
constexpr std::int64_t kLockLimitNs = 1'000'000'000;
// A sweep that looks into a segment holds its lock for a moment.
constexpr std::int64_t kSegmentLockLimitNs = 500'000'000;

bool write_text(const os::UniqueFd& file, const std::string& text) {
  return ftruncate(file.get(), 0) == 0 &&
         pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

Error gone(const std::string& session, const std::string& segment) {
  return {Status::ERROR_SERVER, "segment " + segment + " of session " + session +
                                    " is gone: its server has ended, or no rank is left"};
}

}  // namespace

Result<LiveSession> LiveSession::begin(const std::string& session, const std::string& take_over,
                                       const Starter& starter) {
  Result<std::string> folder = node::runtime_folder();
  if (!folder) return folder.error();
  LiveSession live;
  node::Findings found = node::sweep({*folder}, node::Sweep::remove, shm::must_stay);
  live.undrained_ = std::move(found.being_stored);
  live.undrained_.insert(live.undrained_.end(), found.undrained.begin(), found.undrained.end());
  const node::SessionFiles files = node::session_files(*folder, session);
  os::UniqueFd lock = os::lock_file(files.live, kLockLimitNs);
  // The byte can be looked at without keeping anybody from the lock.
  if (!lock || !os::lock_byte(lock, 0)) {
    return Error{Status::ERROR_TIMEOUT,
                 "session " + session + " has a server on this node already (" + files.live + ")"};
  }
  const std::string too_late =
      node::LateRanks::read(files.late).why_too_late(session, starter.node_rank, starter.since_ns);
  if (!too_late.empty()) {
    ::unlink(files.live.c_str());
    return Error{Status::ERROR_STATE, too_late};
  }
  // Looked for with the lock held: from here on no other server of this session comes.
  const std::string named = os::text_of(lock.get(), 256);
  Result<node::Orphan> orphan =
      node::orphaned_segment({*folder}, take_over.empty() ? named : take_over);
  if (orphan && !take_over.empty() && orphan->name.empty()) orphan = gone(session, take_over);
  if (!orphan) {
    if (named.empty()) ::unlink(files.live.c_str());
    return orphan.error();
  }
  live.is_taken_over_ = !orphan->name.empty();
  live.segment_ = live.is_taken_over_ ? orphan->name : node::text_of({session, os::this_process()});
  if (live.segment_ != named && !write_text(lock, live.segment_)) {
    return Error{Status::ERROR_SYSTEM, "cannot write " + files.live + ": is the disk full?"};
  }
  live.files_ = files;
  live.of_segment_ = node::segment_files(*folder, node::stem_of(live.segment_));
  live.segment_lock_ = std::move(orphan->lock);
  live.lock_ = std::move(lock);
  return live;
}

Result<LiveSession> LiveSession::drain(const std::string& segment) {
  const std::optional<node::SegmentName> name = node::own_segment_name(segment);
  if (!name) return Error{Status::ERROR_ARGUMENT, "\"" + segment + "\" is no segment of yours"};
  LiveSession live;
  live.segment_ = segment;
  live.is_taken_over_ = true;
  live.of_segment_ = node::segment_files(node::runtime_folder_name(), node::stem_of(segment));
  const os::Deadline deadline = os::Deadline::in_ns(kSegmentLockLimitNs);
  for (;;) {
    os::LockTry attempt = os::try_lock("/dev/shm/" + segment);
    // A lock that is just being shared is free for a moment: then a byte of it is not.
    const bool held = attempt.held || (attempt.lock && os::bytes_are_locked(attempt.lock, 0, 0));
    if (attempt.lock && !held) {
      live.drain_lock_ = std::move(attempt.lock);
      return live;
    }
    if (!held)
      return Error{Status::ERROR_SERVER, "segment " + segment + " is gone: all of it is stored"};
    if (deadline.passed())
      return Error{Status::ERROR_STATE, "segment " + segment + " is in use, or somebody stores it"};
    os::pause_shortly();
  }
}

LiveSession::~LiveSession() {
  if (owns_segment_) {
    shm::Segment::remove(segment_);
    ::unlink(of_segment_.journal.c_str());
    ::unlink(of_segment_.sums.c_str());
  }
  if (!lock_) return;
  ::unlink(files_.socket.c_str());
  ::unlink(files_.control.c_str());
  // Left by a rank that was killed while it started us.
  if (os::try_lock(files_.lock).lock) ::unlink(files_.lock.c_str());
  // What was taken over and stays, is named there for the next.
  if (owns_segment_ || !is_taken_over_) ::unlink(files_.live.c_str());
}

}  // namespace leat::server
