// SPDX-License-Identifier: Apache-2.0
#include "server/session/session_journal.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "lib/platform/file_facts.hpp"
#include "lib/platform/file_lock.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

// Never empty, so that one that was removed and made anew is known.
const json kBegin = {{"begin", 1}};

// Each entry: its length, 4 bytes, then MessagePack, which keeps any bytes of a text.
std::string framed(const json& entry) {
  const std::vector<std::uint8_t> body = json::to_msgpack(entry);
  const auto length = static_cast<std::uint32_t>(body.size());
  std::string frame(sizeof length, '\0');
  std::memcpy(frame.data(), &length, sizeof length);
  return frame.append(body.begin(), body.end());
}

}  // namespace

SessionJournal::SessionJournal(const std::string& path)
    : path_(path), file_(platform::open_to_append(path, false)) {
  is_new_ = !path_.empty() && (!file_ || platform::is_empty_file(file_.get()));
  if (is_new_) note(kBegin);
}

std::vector<json> SessionJournal::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<json> entries;
  std::uint32_t length = 0;
  for (std::size_t at = 0; text.size() - at >= sizeof length; at += length) {
    std::memcpy(&length, text.data() + at, sizeof length);
    at += sizeof length;
    if (length > text.size() - at) break;
    const auto begin = text.begin() + static_cast<std::ptrdiff_t>(at);
    json entry = json::from_msgpack(begin, begin + length, true, false);
    if (entry.is_discarded()) break;
    entries.push_back(std::move(entry));
  }
  return entries;
}

bool SessionJournal::note(const json& entry) {
  if (path_.empty()) return true;
  const bool is_there = file_ && platform::has_a_name(file_.get());
  const std::string frame = framed(entry);
  const ssize_t written = is_there ? ::write(file_.get(), frame.data(), frame.size()) : -1;
  if (written > 0) bytes_ += static_cast<std::uint64_t>(written);
  // Behind half an entry nothing is found: all of it is written anew.
  if (written != static_cast<ssize_t>(frame.size())) broken_ = true;
  try_again_ = broken_;
  return !broken_;
}

void SessionJournal::rewrite(const std::vector<json>& entries) {
  if (path_.empty()) return;
  try_again_ = false;
  std::string all = framed(kBegin);
  for (const json& entry : entries) all += framed(entry);
  const std::string part = path_ + ".part";
  platform::UniqueFd file = platform::open_to_append(part, true);
  const bool whole =
      file && ::write(file.get(), all.data(), all.size()) == static_cast<ssize_t>(all.size());
  if (!whole || std::rename(part.c_str(), path_.c_str()) != 0) {
    ::unlink(part.c_str());  // the old one goes on
    bytes_rewritten_ = bytes_;
    return;
  }
  file_ = std::move(file);
  broken_ = false;
  bytes_ = bytes_rewritten_ = all.size();
}

}  // namespace leat::server
