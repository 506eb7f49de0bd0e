# SPDX-License-Identifier: Apache-2.0
"""In the place of xarray where tests/support/without_xarray.py puts this folder."""
raise ImportError("not for these tests")
