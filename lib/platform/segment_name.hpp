// SPDX-License-Identifier: Apache-2.0
// Names of segments in /dev/shm: leat-<uid>-<session>-<pid>.<start>, pid and start time being those
// of the leatd that made it. The name alone says whose a segment is, also when nothing else of its
// session is left.
#pragma once

#include <optional>
#include <string>

#include "lib/platform/process_id.hpp"

namespace leat::platform {

struct SegmentName {
  std::string session;
  ProcessId maker;
};

/// The name of the segment that `maker`, a process of this user, makes for a session.
std::string text_of(const SegmentName& name);

/// Empty when `text` is not the name of a segment of this user's.
std::optional<SegmentName> own_segment_name(const std::string& text);

}  // namespace leat::platform
