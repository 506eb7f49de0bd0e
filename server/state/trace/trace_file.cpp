// SPDX-License-Identifier: Apache-2.0
#include "server/state/trace/trace_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <fstream>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/os/process.hpp"
#include "server/state/trace/perfetto.hpp"

namespace leat::server {
namespace {

// What comes within it is written at once.
constexpr auto kTogether = std::chrono::milliseconds(5);

// From the start of the file.
std::uint64_t whole_packets_in(const std::string& path) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  std::ifstream file(path, std::ios::binary);
  std::string rest, part(kAtOnce, 0);
  std::uint64_t whole = 0;
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0) {
    rest.append(part, 0, static_cast<std::size_t>(file.gcount()));
    const std::uint64_t more = perfetto::whole_packets(rest);
    rest.erase(0, more);
    whole += more;
  }
  return whole;
}

}  // namespace

TraceFile::TraceFile(std::string path, os::UniqueFd file, bool goes_on, std::shared_ptr<Log> log,
                     std::uint64_t most_bytes, std::uint64_t most_waiting)
    : path_(std::move(path)),
      file_(std::move(file)),
      goes_on_(goes_on),
      log_(std::move(log)),
      most_bytes_(most_bytes),
      most_waiting_(most_waiting) {}

void TraceFile::start(Executor& executor) {
  try {
    thread_ = executor.run("leat trace", Executor::Urgency::behind_others, [this] { run(); });
  } catch (const std::exception& e) {
    give_up(e.what());
  }
}

void TraceFile::append(std::string_view packets) {
  bool is_first = false, is_too_much = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (over_) return;
    is_first = waiting_.empty();
    is_too_much = waiting_.size() + packets.size() > most_waiting_;
    if (!is_too_much) waiting_.append(packets);
  }
  if (is_too_much) return give_up("the disk is slower than events come");
  if (is_first) changed_.notify_one();
}

void TraceFile::finish() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void TraceFile::run() {
  take_up();
  std::string packets;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    packets.clear();
    std::swap(packets, waiting_);
    lock.unlock();
    write(packets);
    lock.lock();
    changed_.wait_for(lock, kTogether, [this] { return closing_; });
  }
}

// A server that was killed may have left a part of a packet, behind which nothing would be understood.
void TraceFile::take_up() {
  if (!goes_on_) return;
  written_ = whole_packets_in(path_);
  const off_t bytes = lseek(file_.get(), 0, SEEK_END);
  if (bytes > static_cast<off_t>(written_) &&
      ftruncate(file_.get(), static_cast<off_t>(written_)) != 0)
    give_up(os::errno_text(errno));
}

void TraceFile::write(const std::string& packets) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (over_) return;
  }
  if (written_ + packets.size() > most_bytes_)
    return give_up("it has the " + format_bytes(most_bytes_) + " that a trace may have");
  for (std::size_t done = 0; done < packets.size();) {
    const ssize_t n = ::write(file_.get(), packets.data() + done, packets.size() - done);
    if (n > 0) done += static_cast<std::size_t>(n);
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    give_up(os::errno_text(n < 0 ? errno : EIO));
    written_ += perfetto::whole_packets(packets.substr(0, done));
    (void)!ftruncate(file_.get(), static_cast<off_t>(written_));  // or its end is half a packet
    return;
  }
  written_ += packets.size();
}

// Once: the run goes on, and what is written stays.
void TraceFile::give_up(const std::string& why) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(over_, true)) return;
    waiting_.clear();
    waiting_.shrink_to_fit();
  }
  log_->warn("the trace {} ends here: {}; the run goes on", path_, why);
}

}  // namespace leat::server
