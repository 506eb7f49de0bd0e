# SPDX-License-Identifier: Apache-2.0
"""Functions of the whole run: a Dask cluster of all servers, whose workers have the data where they lie."""
