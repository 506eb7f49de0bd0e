// SPDX-License-Identifier: Apache-2.0
// LEAT_ANALYTICS_TRACE=FOLDER: when each piece of an analysis began, how long it took and on which core, a
// file for each thread that does pieces. The files are traces as `leat predict` reads them.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/platform/clock.hpp"
#include "server/session/log.hpp"

namespace leat::server {

class PieceTrace {
 public:
  /// Null when nobody wants one.
  static std::unique_ptr<PieceTrace> wanted_for(const std::string& store, std::shared_ptr<Log> log);
  PieceTrace(std::string folder, std::string store, std::shared_ptr<Log> log);
  PieceTrace(const PieceTrace&) = delete;
  ~PieceTrace();

  /// A piece that ends now, on the calling thread; from any. Threads of the simulation may not see the
  /// server's files: nothing is written yet.
  void add(std::int64_t begun_ns);
  /// Writes what there is; from the plugin's own thread.
  void flush();

 private:
  struct Piece {
    std::int64_t begun_ns, ns;
    int core;
  };
  struct OfThread {
    std::vector<Piece> pieces{};
    std::ofstream file{};
    int core = -1;  // that the file has named last
  };

  void write(OfThread& thread);
  void open(OfThread& thread);

  const std::string folder_, store_;
  const std::shared_ptr<Log> log_;
  std::mutex mutex_;
  std::map<std::thread::id, OfThread> threads_;
  std::int64_t origin_ns_ = 0;
  int opened_ = 0;
  bool has_failed_ = false;
};

/// A piece, from here to the end of the block. `trace` may be null.
class TracedPiece {
 public:
  explicit TracedPiece(PieceTrace* trace)
      : trace_(trace), begun_ns_(trace ? platform::now_ns() : 0) {}
  TracedPiece(const TracedPiece&) = delete;
  ~TracedPiece() {
    if (trace_) trace_->add(begun_ns_);
  }

 private:
  PieceTrace* trace_;
  std::int64_t begun_ns_;
};

}  // namespace leat::server
