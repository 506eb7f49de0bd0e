# SPDX-License-Identifier: Apache-2.0
"""What this Python lacks for what was asked of a run."""
import platform
import sys


def lacks(what, package, error):
    """The ImportError to raise. what: "a table is a pandas.DataFrame"."""
    return ImportError(f"{what}: {sys.executable} (Python {platform.python_version()}) cannot import {package}: {error}; install it: "
                       f"{sys.executable} -m pip install {package}")
