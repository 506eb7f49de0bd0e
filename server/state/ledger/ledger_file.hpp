// SPDX-License-Identifier: Apache-2.0
// The ledger as a file beside the run's output, always whole and seldom older than some seconds, and as text for
// plugins. All calls come from the event loop, except text(): from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/os/descriptor.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/worker.hpp"
#include "server/state/ledger/ledger.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// The ledger as JSON; docs/reference/ledger.md describes it.

/// What a row says, all but what it is about.
nlohmann::ordered_json json_of(const LedgerTable& table, const Row& row);
/// One line, also when a text is no UTF-8.
std::string line_of(const nlohmann::ordered_json& json);

/// `state` is "running", "closing" or "finished"; the last is "died" when a rank did.
std::string ledger_json(const Ledger& ledger, const std::string& state);

class LedgerFile {
 public:
  /// Waits this long from one writing to the next.
  static constexpr std::int64_t kEveryNs = 2'000'000'000;

  /// In this folder. `names` outlive this.
  LedgerFile(const LedgerNames& names, const std::string& folder);
  LedgerFile(const LedgerFile&) = delete;
  ~LedgerFile();

  /// Takes the name: <simulation>.ledger.json, with the node in it when the run has several, with
  /// the session when a run in progress has that name; one of this run that is there already, in a
  /// server that goes on. The ledger of another run that was killed before its end gets another
  /// name, and what is returned says so, else "". Writes it, unless there is one of this run.
  std::string start(const Ledger& ledger, Executor& executor);
  /// "run.ledger.json"
  const std::string& name() const noexcept { return name_; }

  /// Writes what has changed when it is time to, on a thread of its own.
  void update(const Ledger& ledger);
  /// update() is to be called again, although nothing else happens.
  bool is_behind(const Ledger& ledger) const noexcept {
    return started_ && ledger.version() != written_version_;
  }
  /// For the plugins, at once. No update() has an effect any more.
  void publish(const Ledger& ledger, const std::string& state);
  /// Writes it at once, for the last time. "", or why it cannot be written.
  std::string finish(const Ledger& ledger);

  /// A file beside it, named likewise: "report" for <simulation>.report.json. "", or why not.
  std::string write_beside(const std::string& what, const std::string& text);

  /// What was published or written last. From any thread.
  std::string text() const;

 private:
  std::string in_folder(const std::string& name) const { return path_ + "/" + name; }
  std::string take_name();
  bool take_lock(const std::string& name);
  std::string set_aside(const std::string& wanted) const;
  void store(std::string text);
  std::string write(const std::string& text);

  const LedgerNames& names_;
  std::string name_;
  std::string path_;  // of the folder
  os::Folder folder_;
  bool started_ = false, is_continued_ = false;  // continued: what is there is of this run
  os::UniqueFd lock_;
  std::uint64_t written_version_ = 0;
  std::int64_t written_ns_ = 0;

  mutable std::mutex mutex_;
  std::string text_;
  os::Worker worker_;
};

}  // namespace leat::server
