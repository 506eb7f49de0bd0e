# SPDX-License-Identifier: Apache-2.0
"""What scripts for Damaris import as damaris4py, for those that Leat runs."""
