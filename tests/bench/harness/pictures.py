# SPDX-License-Identifier: Apache-2.0
"""PNGs of the sections that have a picture."""

from .sections import SECTIONS

SIZES = {"alternatives": (11, 5), "end_to_end": (12, 4)}


def draw(sections, folder, prefix=""):
    """{section: name of its file in the folder}."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = {}
    for name, data in sections.items():
        if not hasattr(SECTIONS[name], "picture"):
            continue
        figure = pyplot.figure(figsize=SIZES[name], layout="constrained")
        SECTIONS[name].picture(data, figure)
        figure.savefig(folder / f"{prefix}{name}.png", dpi=110)
        pyplot.close(figure)
        made[name] = f"{prefix}{name}.png"
    return made
