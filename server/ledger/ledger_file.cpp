// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/ledger_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "lib/platform/clock.hpp"
#include "lib/platform/file_lock.hpp"
#include "lib/platform/process.hpp"
#include "server/ledger/ledger_json.hpp"

namespace leat::server {
namespace {

constexpr const char* kEnding = ".ledger.json";

std::string lock_of(const std::string& name) { return "." + name + ".lock"; }

std::string with_failures_settled(Ledger* ledger, const std::string& state) {
  ledger->settle_failures();
  return ledger_json(*ledger, state);
}

}  // namespace

LedgerFile::LedgerFile(const LedgerNames& names)
    : name_(names.simulation + (names.ranks > names.node_ranks ? "-" + platform::node_name() : "")),
      session_(names.session) {}

LedgerFile::~LedgerFile() {
  stop();
  if (lock_) ::unlink(lock_of(name_).c_str());
}

void LedgerFile::start(const Ledger& ledger) {
  const std::string wanted = name_ + kEnding;
  lock_ = platform::lock_file(lock_of(wanted), 0);
  name_ = lock_ || ::access(lock_of(wanted).c_str(), F_OK) != 0 ? wanted
                                                                : name_ + "-" + session_ + kEnding;
  started_ = true;
  keep(ledger_json(ledger, "running"));
  thread_ = std::thread([this] { work(); });
}

void LedgerFile::update(const Ledger& ledger) {
  if (!is_behind(ledger)) return;
  const std::int64_t now = platform::now_ns();
  if (now - written_ns_ < kEveryNs) return;
  written_ns_ = now;
  written_version_ = ledger.version();
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_ = ledger;
  changed_.notify_one();
}

void LedgerFile::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || waiting_; });
    if (stopping_) return;
    Ledger ledger = std::move(*waiting_);
    waiting_.reset();
    lock.unlock();
    std::string text = with_failures_settled(&ledger, "running");
    write(text);  // should it fail, the last writing says so
    keep(std::move(text));
    lock.lock();
  }
}

void LedgerFile::publish(const Ledger& ledger, const std::string& state) {
  stop();
  Ledger copy = ledger;
  keep(with_failures_settled(&copy, state));
}

std::string LedgerFile::finish(const Ledger& ledger) {
  if (!started_) return "";
  publish(ledger, "finished");
  started_ = false;
  return write(text_);
}

void LedgerFile::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void LedgerFile::keep(std::string text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  text_ = std::move(text);
}

std::string LedgerFile::text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return text_;
}

// A reader finds the old one or the new one, never half of it.
std::string LedgerFile::write(const std::string& text) {
  const std::string part = "." + name_ + ".part";
  errno = 0;
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file && std::rename(part.c_str(), name_.c_str()) == 0) return "";
  const std::string why = std::strerror(errno);
  ::unlink(part.c_str());
  return "cannot write " + name_ + ": " + why;
}

}  // namespace leat::server
