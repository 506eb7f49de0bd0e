// SPDX-License-Identifier: Apache-2.0
// What is said of what became of the data: in the ledger, its file, the journal of the session and the log. Private to
// the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/state/clients/clients.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/ledger/ledger.hpp"
#include "server/state/ledger/ledger_file.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class Record {
 public:
  Record(const Run& run, Clients& clients, SessionJournal& journal);

  Ledger& ledger() noexcept { return ledger_; }
  const Ledger& ledger() const noexcept { return ledger_; }
  /// Name of the file.
  const std::string& name() const noexcept { return file_.name(); }
  /// What was written last. From any thread.
  std::string text() const { return file_.text(); }

  /// As LedgerFile::write_beside().
  std::string write_beside(const std::string& what, const std::string& text) {
    return file_.write_beside(what, text);
  }

  /// Takes the ledger's name and writes it; once, whoever asks.
  void open();
  /// A rank has come: it is one of those of whom the ledger speaks.
  void rank_came();
  /// To be called often; writes when there is something to write, and time for it.
  void update() { file_.update(ledger_); }
  bool is_behind() const noexcept { return file_.is_behind(ledger_); }

  /// An iteration, or what a script made, has been through the stores.
  void settled(PipelineResult& result);
  /// Warnings, of which each is said once.
  void report(const std::vector<Finding>& findings);
  /// How scripts fare, as soon as something went wrong, so that it outlives this server; `trouble`
  /// grows with that.
  void scripts_fared(std::uint64_t trouble,
                     const std::function<std::map<std::string, ScriptFate>()>& fates);

  /// The stores close: what they keep of the ledger is this. No update() has an effect from here
  /// on.
  void publish(const std::map<std::string, ScriptFate>& scripts);
  /// Writes it for the last time; what there is to say of it, in so many bytes at most.
  std::string finish(std::size_t most);

  // Recovery where a server has died
  void apply(const LossNoted& record);
  /// For a journal that is rewritten.
  std::vector<JournalRecord> snapshot() const;

 private:
  void report(const BlockProblem& problem, std::int64_t iteration);
  void note_loss(const std::string& line);

  const Run& run_;
  Clients& clients_;
  SessionJournal& journal_;
  Ledger ledger_;
  LedgerFile file_;
  bool is_open_ = false;
  std::vector<std::string> losses_;  // lines of the ledger, for the journal
  std::uint64_t script_trouble_ = 0;
};

}  // namespace leat::server
