// SPDX-License-Identifier: Apache-2.0
// What a thread is called, and how urgent it is to the kernel. How urgent needs no privilege, is for
// good, as there is no way back without one, and is no matter when the kernel refuses.
#pragma once

namespace leat::platform {

/// The calling thread, as top and debuggers show it: at most 15 characters.
void name_thread(const char* name) noexcept;

/// The calling thread runs in the gaps that others leave.
void run_in_background() noexcept;

/// Other threads on its processors go first: for work that nobody waits for at once, beside a thread
/// that somebody does wait for.
void go_behind_others() noexcept;

/// The calling thread, and those it starts later, run in the time that nobody else wants (SCHED_IDLE).
/// Beside threads that never sleep that is none: not for one that has locked what others need.
void run_when_idle() noexcept;

}  // namespace leat::platform
