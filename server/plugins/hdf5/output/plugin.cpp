// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/store.hpp"

LEAT_PLUGIN(leat::hdf5::Store, "hdf5")
