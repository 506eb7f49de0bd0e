// SPDX-License-Identifier: Apache-2.0
// The store as a plugin: what the server looks for in the library.
#include "server/plugins/hdf5/output/store.hpp"

LEAT_PLUGIN(leat::hdf5::Store, "hdf5")
