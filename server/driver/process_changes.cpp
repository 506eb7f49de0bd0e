// SPDX-License-Identifier: Apache-2.0
#include "server/driver/process_changes.hpp"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "lib/os/cores.hpp"
#include "lib/os/limits.hpp"
#include "lib/os/process.hpp"
#include "lib/os/shared_library.hpp"
#include "server/pipeline/plugin_loader.hpp"

namespace leat::server {
namespace {

constexpr int kEnds[] = {SIGTERM, SIGINT};
std::atomic<int> told_to_end_pipe{-1};

extern "C" void on_told_to_end(int signal) {
  const int before = errno;
  const auto number = static_cast<unsigned char>(signal);
  (void)!write(told_to_end_pipe.load(), &number, 1);
  errno = before;
}

// One that is told to end while it starts shall do so as ever, with all ranks in the same run: the
// loop takes the signal once it runs. Who starts leatd has blocked them already.
os::UniqueFd block_termination(sigset_t* before) {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int each : kEnds) sigaddset(&mask, each);
  pthread_sigmask(SIG_BLOCK, &mask, before);
  return os::UniqueFd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Signals are for other threads, but for those of this one's own faults.
void block_all_but_crashes() {
  sigset_t mask;
  sigfillset(&mask);
  for (const int each : kCrashSignals) sigdelset(&mask, each);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace

Result<void> ProcessChanges::make() {
  if (owner_ != Owner::leatd) os::keep_libraries_apart();
  if (owner_ == Owner::simulation) return stand_apart();
  if (owner_ == Owner::rank) remember();
  // Batch systems send SIGUSR1 or SIGUSR2 to all processes of a job, for the simulation to make a checkpoint.
  for (const int each : {SIGPIPE, SIGHUP, SIGUSR1, SIGUSR2}) take(each, SIG_IGN);
  signals_ = block_termination(&mask_);
  take(SIGXFSZ, SIG_IGN);  // a file size limit is an error of a write, not an end
  note_crashes();
  os::allow_more_descriptors();
  return {};
}

// A folder, a umask and descriptors of this thread's own, and of those that it starts: a child that
// the simulation forks has none of ours, and closing a file of ours ends no lock of the rank's.
Result<void> ProcessChanges::stand_apart() {
  if (!os::stand_apart_in_process()) {
    return Error{Status::ERROR_SYSTEM,
                 "a thread cannot have a folder and descriptors of its own here (unshare: " +
                     os::errno_text(errno) + "), as in some containers: write place=\"process\""};
  }
  os::name_thread("leat server");
  block_all_but_crashes();
  return {};
}

void ProcessChanges::remember() {
  folder_ = os::UniqueFd(open(".", O_PATH | O_CLOEXEC));
  cpus_ = os::current_affinity();
  for (const int each : kCrashSignals) take(each, nullptr);
  // Another thread may get what this one has blocked.
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  reader_ = os::UniqueFd(ends[0]);
  writer_ = os::UniqueFd(ends[1]);
  told_to_end_pipe = writer_.get();
  for (const int each : kEnds) take(each, on_told_to_end);
}

void ProcessChanges::take(int signal, void (*handler)(int)) {
  struct sigaction before {};
  sigaction(signal, nullptr, &before);
  actions_.emplace_back(signal, before);
  if (!handler) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

ProcessChanges::~ProcessChanges() {
  if (owner_ != Owner::rank) return;
  for (const auto& [signal, before] : actions_) sigaction(signal, &before, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  (void)!fchdir(folder_.get());
  os::set_affinity(cpus_);
}

}  // namespace leat::server
