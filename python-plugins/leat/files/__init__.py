# SPDX-License-Identifier: Apache-2.0
"""What the command `leat` does with files of the hdf5 store, by h5py: `leat ls`, `leat model`, `leat xdmf`, `leat zarr`, `leat openpmd`."""
