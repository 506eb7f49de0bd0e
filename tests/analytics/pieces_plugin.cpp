// SPDX-License-Identifier: Apache-2.0
// A plugin whose iterations are done in pieces, and which fails as it is told: options `fail` (begin,
// piece, finish), `crash` (the iteration whose piece does). It writes what happened to `file`.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

#include "server/include/plugin.hpp"

namespace {

constexpr std::uint64_t kPieces = 40;

class Pieces {
 public:
  Pieces(const leat_run& run, leat::Host host)
      : host_(host),
        fail_(leat::option(run.options, run.option_count, "fail")),
        crash_(std::atol(leat::option(run.options, run.option_count, "crash", "-1").c_str())),
        meet_(static_cast<std::size_t>(
            std::atol(leat::option(run.options, run.option_count, "meet", "1").c_str()))),
        out_(leat::option(run.options, run.option_count, "file", "pieces.txt"), std::ios::app) {}

  std::uint64_t begin(const leat_iteration_data& data) {
    if (fail_ == "begin" && data.iteration == 1) throw std::runtime_error("told to fail in begin");
    iteration_ = data.iteration;
    threads_.clear();
    done_.clear();
    return kPieces;
  }

  void chunk(std::uint64_t number) {
    if (iteration_ == crash_ && number == kPieces / 2) std::abort();
    if (fail_ == "piece" && iteration_ == 1 && number == 7)
      throw std::runtime_error("told to fail in piece 7");
    std::unique_lock<std::mutex> lock(mutex_);
    threads_.insert(syscall(SYS_gettid));
    if (!done_.insert(number).second) twice_ = true;
    met_.notify_all();
    // So that each thread that there is gets one.
    if (fail_.empty()) met_.wait(lock, [this] { return threads_.size() >= meet_; });
  }

  void finish() {
    if (fail_ == "finish" && iteration_ == 1) throw std::runtime_error("told to fail in finish");
    out_ << iteration_ << ' ' << done_.size() << ' ' << threads_.size() << (twice_ ? " twice" : "")
         << std::endl;
    leat::Products products;
    products.add("done", static_cast<std::int64_t>(done_.size()));
    host_.publish(std::move(products));
  }

  void close() {}

 private:
  leat::Host host_;
  std::string fail_;
  long crash_;
  std::size_t meet_;
  std::ofstream out_;
  std::int64_t iteration_ = 0;
  std::mutex mutex_;
  std::condition_variable met_;
  std::set<long> threads_;
  std::set<std::uint64_t> done_;
  bool twice_ = false;
};

}  // namespace

LEAT_PLUGIN(Pieces, "pieces")
