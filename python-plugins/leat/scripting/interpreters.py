# SPDX-License-Identifier: Apache-2.0
"""What to say where this Python lacks a package: which other one of the system has it."""
import os
import platform
import subprocess
import sys

_SECONDS = 10


def without(package, error, say):
    """One line: what is missing, and what to do. `say` is how another interpreter is named: 'interpreter="{}" in <scripts>'."""
    text = f"{sys.executable} (Python {platform.python_version()}) cannot import {package}: {error}; "
    module = package.lower()
    other = next((path for path in _others() if _has(path, module)), None)
    if other:
        return text + f"say {say.format(other)}, which has it, or install it: {sys.executable} -m pip install {module}"
    return text + f"install it: {sys.executable} -m pip install {module}, or say {say.format('...')}"


def _others():
    own, seen = os.path.realpath(sys.executable), set()
    for folder in [*os.environ.get("PATH", "").split(os.pathsep), "/usr/bin", "/usr/local/bin"]:
        path = os.path.join(folder, "python3")
        real = os.path.realpath(path)
        if real not in seen and real != own and os.access(path, os.X_OK):
            yield path
        seen.add(real)


def _has(path, module):
    try:
        return subprocess.run([path, "-c", f"import {module}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
