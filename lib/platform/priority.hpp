// SPDX-License-Identifier: Apache-2.0
// How urgent a thread is to the kernel.
#pragma once

namespace leat::platform {

/// The calling thread runs in the gaps that others leave. For good: without privileges there is no
/// way back. No matter when the kernel refuses.
void run_in_background() noexcept;

}  // namespace leat::platform
