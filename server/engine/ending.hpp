// SPDX-License-Identifier: Apache-2.0
// The end of a run: clients that are told that nothing more is taken, stores that close, the last
// word to all. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/engine/attachment.hpp"
#include "server/engine/events.hpp"
#include "server/engine/run_report.hpp"

namespace leat::server {

class Ending {
 public:
  Ending(SessionState& session, Dispatcher& dispatcher, Attachment& attachment, Events& events,
         Host& host);

  /// The run is told to end: what waits for others waits no longer than it must.
  void announce() noexcept { is_announced_ = true; }
  /// All clients are dead.
  void end_clients();
  /// Takes nothing more of any client, by the order in the segment. They get the last word.
  void cut_off_clients();
  /// When all are gone, and all that they handed over is stored.
  void close_when_drained();
  /// Of events of the XML.
  void warn(const std::string& what, const std::vector<std::string>& lines);
  /// Of what other servers of the run do, and of those that are missing.
  void warn_of_run();
  bool is_closing() const noexcept { return closing_; }
  /// Says what has become of them. A rank that waits for memory, or for the end of the run, waits for the stores, which wait for
  /// sessions of others: half its time for that, the other for the stores.
  void tend_drains();
  bool awaits_drains() const noexcept { return dispatcher_.drains().any_unreported(); }

  /// When everything is closed. Tells all clients how it went.
  void report_drained();
  /// Of leatd.
  int exit_status() const noexcept;
  /// When facts.drained: what became of it, as JSON.
  std::string drained() const;

 private:
  void end_each(void (Events::*end)(std::uint32_t));
  void count_late();
  void warn_of_missing_events();
  RunReport report() const;
  void write_report();
  std::string last_line() const;
  void log_drained();
  void log_the_end();

  SessionState& session_;
  Dispatcher& dispatcher_;
  Attachment& attachment_;
  Events& events_;
  Host& host_;
  std::int64_t pressed_since_ns_ = 0;  // the stores are awaited by a rank; 0: not
  bool is_announced_ = false, closing_ = false;
};

}  // namespace leat::server
