# SPDX-License-Identifier: Apache-2.0
"""What pictures of the command `leat` have in common: what is told comes in as JSON, and errors say which command had them."""
import json
import sys


def draw(command, paint):
    """paint(told, pyplot) gives the figure. Returns an exit status."""
    told = json.load(sys.stdin)
    try:
        import matplotlib
    except ImportError:
        print(f"leat {command}: --plot needs matplotlib, which this Python does not have: python3 -m pip install matplotlib, or say "
              "--interpreter /path/to/python3", file=sys.stderr)
        return 1
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure = paint(told, pyplot)
    try:
        figure.savefig(told["file"], dpi=110)
    except (OSError, ValueError) as why:
        print(f"leat {command}: --plot: {told['file']}: {why}", file=sys.stderr)
        return 1
    return 0
