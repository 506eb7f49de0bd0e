// SPDX-License-Identifier: Apache-2.0
// Processor time of processes, as the kernel counts it.
#pragma once

#include <sys/types.h>

namespace leat::bench {

/// Of this thread; of this process and its threads.
double thread_cpu_seconds();
double process_cpu_seconds();
/// Of another process, ended threads included; 0 when it has ended.
double cpu_seconds_of(pid_t pid);
/// Times that this thread has gone to sleep by itself.
long voluntary_switches();
/// -1: there is no such process.
pid_t parent_of(pid_t pid);

}  // namespace leat::bench
