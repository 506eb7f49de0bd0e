# SPDX-License-Identifier: Apache-2.0
"""Runs analyses that were written for deisa-dask, as they are: Leat is the bridge between the simulation and their callbacks."""
