// SPDX-License-Identifier: Apache-2.0
// The process of a RemotePlugin: the program leat_plugin_worker.
#pragma once

namespace leat::server {

/// Does what leatd says, until it goes away. Returns the exit status.
int work_for_plugin();

}  // namespace leat::server
