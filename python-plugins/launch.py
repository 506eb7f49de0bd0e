# SPDX-License-Identifier: Apache-2.0
"""Starts one of Leat's Python tools under whatever interpreter runs this: launch.py worker | replay | lint [arguments].

Python puts the folder of this file first on its path, so the package `leat` beside it is taken, which needs NumPy only.
"""
import importlib
import sys

TOOLS = ("worker", "replay", "lint")

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TOOLS:
        sys.exit(f"{sys.argv[0]}: the first argument is one of {', '.join(TOOLS)}")
    sys.exit(importlib.import_module(f"leat.scripting.{sys.argv.pop(1)}").main())
