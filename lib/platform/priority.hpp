// SPDX-License-Identifier: Apache-2.0
// How urgent a thread is to the kernel. Both need no privilege, are for good, as there is no way back
// without one, and are no matter when the kernel refuses.
#pragma once

namespace leat::platform {

/// The calling thread runs in the gaps that others leave.
void run_in_background() noexcept;

/// Other threads on its processors go first: for work that nobody waits for at once, beside a thread
/// that somebody does wait for. 0: the calling thread.
void go_behind_others(int thread_id = 0) noexcept;

}  // namespace leat::platform
