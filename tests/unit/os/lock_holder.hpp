// SPDX-License-Identifier: Apache-2.0
// Another process that holds a lock, as a server does, until it is killed: a lock dies with its
// process, and one's own says nothing.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "lib/os/file_lock.hpp"

namespace leat::os {

class LockHolder {
 public:
  explicit LockHolder(const std::string& path) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const UniqueFd lock = lock_file(path, 0);
      const char answer = lock ? 'y' : 'n';
      if (write(ready[1], &answer, 1) != 1) _exit(1);
      for (;;) pause();
    }
    const UniqueFd reader(ready[0]), writer(ready[1]);
    char answer = 0;
    holds_ = read(reader.get(), &answer, 1) == 1 && answer == 'y';
  }
  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;
  ~LockHolder() { end(); }
  bool holds() const { return holds_; }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool holds_ = false;
};

}  // namespace leat::os
