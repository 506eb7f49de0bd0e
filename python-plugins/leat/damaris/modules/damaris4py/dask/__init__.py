# SPDX-License-Identifier: Apache-2.0
"""damaris4py.dask: what a script has, as arrays of Dask, and statistics of them."""
