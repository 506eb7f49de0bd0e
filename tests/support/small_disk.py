# SPDX-License-Identifier: Apache-2.0
"""A disk that is soon full."""
import contextlib
import os
import subprocess

import pytest


@contextlib.contextmanager
def small_disk(folder, size):
    """A file system of its own; only root may have one."""
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", folder], capture_output=True).returncode == 0
    if not mounted:
        pytest.skip("mounting a tmpfs needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
