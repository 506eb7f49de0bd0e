# SPDX-License-Identifier: Apache-2.0
"""The command `leat convert` for definitions of XIOS: reads them as XIOS does, and writes what has an equal as XML for Leat."""
