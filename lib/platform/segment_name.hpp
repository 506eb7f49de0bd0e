// SPDX-License-Identifier: Apache-2.0
// Names of segments in /dev/shm: leat-<uid>-<session>-<pid>.<start>.<namespace>, of the leatd that
// made it. No two processes of a machine make the same name, be they in containers or not, and the
// name alone says whose a segment is, also when nothing else of its session is left. Whether it
// lives, its locks say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/platform/process_id.hpp"

namespace leat::platform {

/// Of a segment's file, ranks of the node lock the bytes from 0, each its own, and its server locks
/// this one, as long as they live.
inline constexpr std::int64_t kServerByte = 1 << 20;

struct SegmentName {
  std::string session;
  ProcessId maker;
};

/// The name of the segment that `maker`, a process of this user, makes for a session.
std::string text_of(const SegmentName& name);

/// "<session>-<pid>.<start>": the name of a segment without what all of this user's begin with.
/// Files that belong to a segment are called after it.
std::string stem_of(const std::string& segment);
/// Of a stem.
std::string segment_of(const std::string& stem);

/// Of this user, and on this node.
bool segment_is_there(const std::string& segment);

/// Empty when `text` is not the name of a segment of this user's.
std::optional<SegmentName> own_segment_name(const std::string& text);

}  // namespace leat::platform
