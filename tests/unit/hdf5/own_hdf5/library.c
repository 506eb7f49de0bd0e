/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for an HDF5 library that is not built for several threads. */
#include <hdf5.h>

__attribute__((visibility("default"))) herr_t H5open(void) { return 0; }
__attribute__((visibility("default"))) herr_t H5is_library_threadsafe(hbool_t* is_safe) {
  *is_safe = 0;
  return 0;
}
