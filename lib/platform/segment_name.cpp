// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/segment_name.hpp"

#include <unistd.h>

#include <charconv>

#include "lib/platform/runtime_folder.hpp"

namespace leat::platform {
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

}  // namespace leat::platform
