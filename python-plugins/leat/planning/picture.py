# SPDX-License-Identifier: Apache-2.0
"""What pictures of the command `leat` have in common."""
from .words import BAD, Refused


def draw(told, file, paint):
    """paint(told, pyplot) gives the figure, which goes into the file."""
    try:
        import matplotlib
    except ImportError:
        raise Refused("--plot needs matplotlib, which this Python does not have: python3 -m pip install matplotlib, or say --interpreter "
                      "/path/to/python3", BAD) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure = paint(told, pyplot)
    try:
        figure.savefig(file, dpi=110)
    except (OSError, ValueError) as why:
        raise Refused(f"--plot: {file}: {why}", BAD) from None
