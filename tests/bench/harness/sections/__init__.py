# SPDX-License-Identifier: Apache-2.0
"""The parts of the bench, in the order of the page. Each module has TITLE, ABOUT (what a reader must know), SECONDS
(that it takes, about), measure(context), which gives what JSON can hold, page(data), the lines of its tables, and may
have picture(data, path)."""

from . import (
    alternatives,
    cluster,
    compression,
    coordinated,
    damaris,
    end_to_end,
    files,
    network,
    places,
    plans,
    predict,
    scale,
    size,
    staging,
    write_path,
)

SECTIONS = {
    "alternatives": alternatives,
    "end_to_end": end_to_end,
    "compression": compression,
    "write_path": write_path,
    "scale": scale,
    "places": places,
    "damaris": damaris,
    "size": size,
    "predict": predict,
    "coordinated": coordinated,
    "plans": plans,
    "network": network,
    "staging": staging,
    "cluster": cluster,
    "files": files,
}
