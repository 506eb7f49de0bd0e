// SPDX-License-Identifier: Apache-2.0
// Adds up the bytes that it is given, in pieces, and tells where it does so. Options:
//     at="stop"     each piece stops its process
//     at="crash"    a piece of each iteration from option `from` to option `to` crashes
//     at="wait"     the piece in the middle of iteration `from` waits for the file go, once it has written
//                   the process id into the file pid
//     at="hold"     each piece writes its number into the file pieces, and waits while there is a file hold
//     ledger="1"    says in the log how much of the ledger it sees
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "server/include/plugin.hpp"

namespace {

constexpr std::uint64_t kPieces = 8;

class Chunks {
 public:
  Chunks(const leat_run& run, leat::Host host) : run_(run), host_(host) {
    host_.info("opened " + std::string(leat_run_is_resumed(&run) ? "again" : "first"));
  }

  std::uint64_t begin(const leat_iteration_data& data) {
    data_ = &data;
    sums_.assign(kPieces, 0);
    policies_.assign(kPieces, 0);
    return kPieces;
  }

  void chunk(std::uint64_t number) {
    const std::string at = option("at");
    if (at == "stop") kill(getpid(), SIGSTOP);
    if (at == "crash" && number == kPieces / 2 && is_meant()) std::abort();
    if (at == "wait" && number == kPieces / 2 && is_meant()) await_go();
    if (at == "hold") hold(number);
    for (std::uint64_t i = 0; i < data_->block_count; ++i) {
      const leat_block& block = *leat_block_at(data_, i);
      const auto* const bytes = static_cast<const std::uint8_t*>(block.data);
      for (std::uint64_t b = number; b < block.bytes; b += kPieces) sums_[number] += bytes[b];
    }
    policies_[number] = sched_getscheduler(0);
    host_.progress(1);
  }

  void finish() {
    leat::Products products;
    products.add("sum", std::accumulate(sums_.begin(), sums_.end(), std::int64_t{0}));
    std::int64_t idle = 0;
    for (const int policy : policies_) idle += policy == SCHED_IDLE;
    products.add("idle", idle);
    products.add("parent", static_cast<std::int64_t>(getppid()));
    host_.publish(std::move(products));
  }

  void on_signal(const char* event, std::int32_t rank, std::int64_t iteration, const char*) {
    host_.info(std::string(event) + " of rank " + std::to_string(rank) + " in " +
               std::to_string(iteration));
  }

  void close() {
    if (!option("ledger").empty())
      host_.info("the ledger has " + std::to_string(host_.ledger().size()) + " bytes");
  }

 private:
  std::string option(const char* name, const char* otherwise = "") const {
    return leat::option(run_.options, run_.option_count, name, otherwise);
  }
  bool is_meant() const {
    return data_->iteration >= std::atol(option("from", "0").c_str()) &&
           data_->iteration <= std::atol(option("to", "1000000").c_str());
  }

  void hold(std::uint64_t number) const {
    std::ofstream("pieces", std::ios::app)
        << std::to_string(data_->iteration) + " " + std::to_string(number) + "\n"
        << std::flush;
    while (std::filesystem::exists("hold"))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  static void await_go() {
    std::ofstream("pid.new") << getpid() << std::flush;
    std::filesystem::rename("pid.new", "pid");
    while (!std::filesystem::exists("go"))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  const leat_run& run_;
  leat::Host host_;
  const leat_iteration_data* data_ = nullptr;
  std::vector<std::int64_t> sums_;
  std::vector<int> policies_;
};

}  // namespace

LEAT_PLUGIN(Chunks, "chunks")
