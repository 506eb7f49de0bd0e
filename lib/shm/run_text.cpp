// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/run_text.hpp"

#include <cstring>

namespace leat::shm {
namespace {

void put(std::string* bytes, std::uint64_t number) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put(std::string* bytes, std::string_view text) {
  put(bytes, std::uint64_t{text.size()});
  bytes->append(text);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (left_.size() < sizeof value) return fail();
    std::memcpy(&value, left_.data(), sizeof value);
    left_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > left_.size()) fail();
    if (failed_) return "";
    std::string found(left_.substr(0, size));
    left_.remove_prefix(size);
    return found;
  }
  bool failed() const noexcept { return failed_; }

 private:
  std::uint64_t fail() noexcept {
    failed_ = true;
    left_ = {};
    return 0;
  }

  std::string_view left_;
  bool failed_ = false;
};

}  // namespace

std::string encode(const RunText& run) {
  std::string bytes;
  put(&bytes, run.session);
  put(&bytes, run.folder);
  put(&bytes, static_cast<std::uint64_t>(run.ranks));
  for (const std::int32_t each : {run.node_ranks, run.server, run.servers})
    put(&bytes, static_cast<std::uint64_t>(each));
  put(&bytes, std::uint64_t{run.sources.size()});
  for (const auto& [path, text] : run.sources) {
    put(&bytes, path);
    put(&bytes, text);
  }
  put(&bytes, std::uint64_t{run.environment.size()});
  for (const std::string& each : run.environment) put(&bytes, each);
  return bytes;
}

std::optional<RunText> decode_run_text(std::string_view bytes) {
  Reader reader(bytes);
  RunText run;
  run.session = reader.text();
  run.folder = reader.text();
  run.ranks = static_cast<std::int32_t>(reader.number());
  for (std::int32_t* each : {&run.node_ranks, &run.server, &run.servers})
    *each = static_cast<std::int32_t>(reader.number());
  for (std::uint64_t left = reader.number(); left > 0 && !reader.failed(); --left) {
    std::string path = reader.text();
    run.sources.emplace_back(std::move(path), reader.text());
  }
  for (std::uint64_t left = reader.number(); left > 0 && !reader.failed(); --left)
    run.environment.push_back(reader.text());
  const bool good = !reader.failed() && !run.sources.empty() && run.ranks > 0 && run.server >= 0 &&
                    run.server < run.servers && run.servers <= run.node_ranks;
  return good ? std::optional(std::move(run)) : std::nullopt;
}

}  // namespace leat::shm
