// SPDX-License-Identifier: Apache-2.0
#include "server/state/journal/names.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "lib/node/placement.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/process.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNodeLockEnding = ".node.lock";
// An owner that has just ended removes the lock between our open and our try.
constexpr int kTriesForNode = 3;
// More nodes of one name get no number of their own.
constexpr std::int32_t kMostOfOneName = 100'000;

// What the lock says: which run its server is of, and which of its servers that is.
struct NodeHolder {
  std::string session, run_id;
  std::int32_t number = 0;
};

NodeHolder holder_of(const std::string& path) {
  NodeHolder holder;
  std::ifstream stream(path);
  std::getline(stream, holder.session);
  std::getline(stream, holder.run_id);
  stream >> holder.number;
  return holder;
}

std::string lock_of_node(const std::string& stem, const std::string& node,
                         const std::string& session) {
  return stem + node + (session.empty() ? "" : "-" + session) + kNodeLockEnding;
}

std::string host_and_server(const RunFacts& facts, std::int32_t number) {
  return node::name_of_server(numbered_node(os::node_name(), number), facts.server);
}

}  // namespace

std::string numbered_node(const std::string& host, std::int32_t number) {
  return number <= 1 ? host : host + "-" + std::to_string(number);
}

std::string own_node_name(const RunFacts& facts) {
  return host_and_server(facts, facts.node_number);
}

NodeNumber::NodeNumber(const std::string& folder, const std::string& simulation,
                       const RunFacts& facts) {
  if (facts.has_all_ranks()) return;
  const std::string stem = folder + "/." + simulation + "-";
  if (facts.resumed && take_again(folder, simulation, facts)) return;
  for (value_ = 1; value_ < kMostOfOneName; ++value_) {
    const std::string node = host_and_server(facts, value_);
    const std::string path = lock_of_node(stem, node, "");
    if (take(path, facts)) return;
    // Another run's files have that run's session in their names, or this one's have.
    const std::string holder = holder_of(path).session;
    if (holder.empty() || holder == facts.run_session) continue;
    if (take(lock_of_node(stem, node, facts.run_session), facts)) return;
  }
}

NodeNumber::~NodeNumber() {
  if (lock_ && os::still_there(lock_, path_)) ::unlink(path_.c_str());
}

bool NodeNumber::take_again(const std::string& folder, const std::string& simulation,
                            const RunFacts& facts) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (!file.starts_with("." + simulation + "-") || !file.ends_with(kNodeLockEnding)) continue;
    const NodeHolder holder = holder_of(entry->path());
    if (holder.run_id != facts.run_id || holder.number < 1) continue;
    value_ = holder.number;
    if (take(entry->path(), facts)) return true;
  }
  return false;
}

// Where no lock can be had, the number is taken as free.
bool NodeNumber::take(const std::string& path, const RunFacts& facts) {
  const std::size_t name = path.rfind('/') + 1;
  os::Folder(path.substr(0, name)).remove_no_file(path.substr(name));
  for (int tries = 0; !lock_ && tries < kTriesForNode; ++tries) {
    lock_ = os::lock_file(path, 0);
    if (!lock_ && ::access(path.c_str(), F_OK) == 0) return false;
  }
  if (!lock_) return true;
  path_ = path;
  const std::string text =
      facts.run_session + "\n" + facts.run_id + "\n" + std::to_string(value_) + "\n";
  // On a full disk it says nothing: servers of other runs then take it for one of their own.
  (void)!::ftruncate(lock_.get(), 0);
  (void)!::pwrite(lock_.get(), text.data(), text.size(), 0);
  return true;
}

namespace {

namespace fs = std::filesystem;

// As many servers of one session may be on nodes that are called alike.
constexpr std::size_t kMostNames = 100'000;

}  // namespace

std::string with_addition(const std::string& path, const std::string& addition) {
  const fs::path whole = path;
  return (whole.parent_path() /
          (whole.stem().string() + "-" + addition + whole.extension().string()))
      .string();
}

std::string lock_of(const std::string& path) {
  const fs::path whole = path;
  return (whole.parent_path() / ("." + whole.filename().string() + ".lock")).string();
}

OwnName::OwnName(const std::string& wanted, const std::string& session, bool goes_on,
                 std::int64_t wait_ns) {
  const std::string aside = with_addition(wanted, session);
  std::vector<std::string> names{wanted, aside,
                                 with_addition(aside, os::host_name())};  // another node's
  std::error_code error;
  if (goes_on && fs::exists(aside, error)) std::swap(names[0], names[1]);
  for (std::size_t i = 0; i < kMostNames; ++i) {
    path_ = i < names.size() ? names[i] : with_addition(names.back(), std::to_string(i - 1));
    if (take(path_, wait_ns)) break;
    wait_ns = 0;
  }
  if (path_ != wanted && !(goes_on && path_ == aside))
    why_another_ = wanted + " is being written by another run; this one writes " + path_;
}

// A run that is just ending may still have the lock.
bool OwnName::take(const std::string& path, std::int64_t wait_ns) {
  const fs::path lock = lock_of(path);
  os::Folder(lock.has_parent_path() ? lock.parent_path().string() : ".")
      .remove_no_file(lock.filename().string());
  lock_ = os::lock_file(lock_of(path), ::access(lock_of(path).c_str(), F_OK) == 0 ? wait_ns : 0);
  return lock_ || ::access(lock_of(path).c_str(), F_OK) != 0;
}

OwnName::~OwnName() {
  if (lock_) ::unlink(lock_of(path_).c_str());
}

}  // namespace leat::server
