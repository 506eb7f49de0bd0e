# SPDX-License-Identifier: Apache-2.0
"""For tests of what becomes of scripts, whatever they are given: `from without_xarray import without_xarray  # noqa: F401`, and the
scripts of all tests of that file get mappings of NumPy arrays. A process of scripts starts in a third of the time without xarray."""
import os
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).parent / "no_xarray"


@pytest.fixture(autouse=True)
def without_xarray(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])]))
