// SPDX-License-Identifier: Apache-2.0
#include "lib/node/runtime_folder.hpp"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "lib/os/file_lock.hpp"
#include "lib/os/process.hpp"

namespace leat::node {
namespace {

std::string own_prefix() { return "leat-" + std::to_string(geteuid()) + "-"; }

template <class Number>
bool read_number(const std::string& text, Number* value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end && !text.empty() && text[0] != '-';
}

}  // namespace

std::string text_of(const SegmentName& name) {
  return own_prefix() + name.session + "-" + std::to_string(name.maker.pid) + "." +
         std::to_string(name.maker.start) + "." + std::to_string(name.maker.space);
}

std::string stem_of(const std::string& segment) {
  const std::string prefix = own_prefix();
  return segment.starts_with(prefix) ? segment.substr(prefix.size()) : segment;
}

std::string segment_of(const std::string& stem) { return own_prefix() + stem; }

bool segment_is_there(const std::string& segment) {
  return own_segment_name(segment) && access(("/dev/shm/" + segment).c_str(), F_OK) == 0;
}

std::optional<SegmentName> own_segment_name(const std::string& text) {
  const std::string prefix = own_prefix();
  const std::size_t dash = text.rfind('-');
  if (!text.starts_with(prefix) || dash < prefix.size()) return {};
  const std::size_t dot = text.find('.', dash);
  if (dot == std::string::npos) return {};
  const std::size_t second_dot = text.find('.', dot + 1);
  if (second_dot == std::string::npos) return {};
  SegmentName name;
  name.session = text.substr(prefix.size(), dash - prefix.size());
  const bool good = valid_session_name(name.session) &&
                    read_number(text.substr(dash + 1, dot - dash - 1), &name.maker.pid) &&
                    read_number(text.substr(dot + 1, second_dot - dot - 1), &name.maker.start) &&
                    read_number(text.substr(second_dot + 1), &name.maker.space);
  if (!good) return {};
  return name;
}

std::string runtime_folder_name() {
  const char* chosen = std::getenv("LEAT_RUNTIME_DIR");
  if (chosen && *chosen) return chosen;
  return "/tmp/leat-" + std::to_string(geteuid());
}

Result<std::string> runtime_folder() {
  const std::string folder = runtime_folder_name();
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{Status::ERROR_SYSTEM,
                 "cannot make the runtime folder " + folder + ": " + os::errno_text(errno) +
                     "; set LEAT_RUNTIME_DIR to a folder of yours on this node"};
  }
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Error{Status::ERROR_SYSTEM, "the runtime folder " + folder + " is not a folder"};
  }
  const bool foreign = info.st_uid != geteuid();
  if (foreign || (info.st_mode & 022) != 0) {
    return Error{Status::ERROR_SYSTEM,
                 "the runtime folder " + folder +
                     (foreign ? " belongs to another user: " : " can be written by others: ") +
                     "remove it, or set LEAT_RUNTIME_DIR to a folder that only you can write"};
  }
  return folder;
}

bool valid_session_name(const std::string& name) noexcept {
  if (name.empty() || name.size() > kLongestSessionName || name[0] == '.') return false;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

SessionFiles session_files(const std::string& folder, const std::string& session) {
  const std::string stem = folder + "/" + session;
  return SessionFiles{stem + ".sock", stem + ".lock",    stem + ".live",
                      stem + ".late", stem + ".control", stem + ".ranks"};
}

std::string misplaced(const SessionFiles& files) {
  const auto stands_at = [](const std::string& path, mode_t wanted) {
    struct stat info {};
    return lstat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) != wanted;
  };
  for (const std::string* path : {&files.socket, &files.control})
    if (stands_at(*path, S_IFSOCK)) return *path;
  for (const std::string* path : {&files.lock, &files.live, &files.late, &files.ranks})
    if (stands_at(*path, S_IFREG)) return *path;
  return "";
}

SegmentFiles segment_files(const std::string& folder, const std::string& stem) {
  return SegmentFiles{folder + "/" + stem + ".journal", folder + "/" + stem + ".spill",
                      "/dev/shm/" + segment_of(stem) + ".sums"};
}

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::string clock_text(std::int64_t seconds) {
  const auto time = static_cast<time_t>(seconds);
  struct tm parts {};
  char text[32] = "";
  if (localtime_r(&time, &parts)) strftime(text, sizeof text, "%H:%M:%S", &parts);
  return text;
}

}  // namespace

std::int64_t boot_time_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

// The system rounds down to whole ticks: a process that was started right after an end shall not
// seem to have been there before it.
std::int64_t began_ns() {
  const std::uint64_t start = os::this_process().start;
  const std::int64_t tick = kSecond / sysconf(_SC_CLK_TCK);
  return start == 0 ? boot_time_ns() : (static_cast<std::int64_t>(start) + 1) * tick;
}

LateRanks LateRanks::read(const std::string& path) {
  LateRanks late;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    One one;
    if (std::istringstream(line) >> one.node_rank >> one.ended_ns >> one.ended_time)
      late.ranks_.push_back(one);
  }
  return late;
}

// A kill leaves the old one or the new one; one that cannot be written is not worth a word.
void LateRanks::note(const std::string& path, const std::vector<std::int32_t>& node_ranks) {
  std::erase_if(ranks_, [&](const One& one) {
    return std::find(node_ranks.begin(), node_ranks.end(), one.node_rank) != node_ranks.end();
  });
  for (const std::int32_t rank : node_ranks)
    ranks_.push_back({rank, boot_time_ns(), static_cast<std::int64_t>(time(nullptr))});
  std::ostringstream text;
  for (const One& one : ranks_)
    text << one.node_rank << ' ' << one.ended_ns << ' ' << one.ended_time << '\n';
  const std::string part = path + ".part", all = text.str();
  const os::UniqueFd file = os::open_to_append(part, true);
  const bool whole =
      file && ::write(file.get(), all.data(), all.size()) == static_cast<ssize_t>(all.size());
  if (!whole || std::rename(part.c_str(), path.c_str()) != 0) ::unlink(part.c_str());
}

std::string LateRanks::why_too_late(const std::string& session, std::int32_t node_rank,
                                    std::int64_t since_ns) const {
  for (const One& one : ranks_) {
    if (one.node_rank != node_rank || since_ns >= one.ended_ns) continue;
    return "rank " + std::to_string(node_rank) + " of this node came too late: session " + session +
           " ended at " + clock_text(one.ended_time) +
           " without it, after the other ranks had waited for it for the timeout of <buffer>; "
           "nothing of this rank is stored";
  }
  return "";
}

}  // namespace leat::node
