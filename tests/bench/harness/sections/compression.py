# SPDX-License-Identifier: Apache-2.0
"""Compression in the server and in the simulation."""

import dataclasses

from .. import job
from ..markdown import bytes_text, plain, table, with_range

TITLE = "Compression on and off"
ABOUT = """Each rank computes 100 ms and puts out 1 MiB for each core of the machine, with a core to spare: with Leat
the server compresses, with HDF5 in the simulation the rank does. *Smaller* is plain output over what lies on the
disk."""

SECONDS = 50
CASES = {
    "no output": ("none", "none"),
    "`pwrite`, plain": ("posix-write", "none"),
    "HDF5, plain": ("hdf5-file", "none"),
    "HDF5, deflate:1": ("hdf5-file", "deflate:1"),
    "Leat, plain": ("leat-write", "none"),
    "Leat, blosc:lz4:1": ("leat-write", "blosc:lz4:1"),
    "Leat, deflate:1": ("leat-write", "deflate:1"),
}


def measure(context):
    context.say("compression")
    placement, cores = job.placements()[0], len(job.placements()[-1].ranks)
    plain_case = job.Case(
        "none",
        placement,
        context.work(0.002 if context.quick else 0.1),
        cores << 20,
        *((3, 1) if context.quick else (10, 3)),
    )
    cases = {
        title: dataclasses.replace(plain_case, method=method, compression=compression)
        for title, (method, compression) in CASES.items()
    }
    series = context.series(lambda title: context.jobs.measure(cases[title]), list(cases), 3, SECONDS)
    wanted = plain_case.node_bytes * (plain_case.iterations + plain_case.warm_up)
    return {
        "wanted_bytes": wanted,
        "runs": series.runs,
        "rows": {
            title: {
                "loop": series.ratio(title, "no output", "loop_s"),
                "whole": series.ratio(title, "no output", "total_s"),
                "cpu": series.ratio(title, "no output", "all_cpu_s"),
                "calls_ms": series.figure(title, "calls_ms_per_iteration"),
                "file_bytes": series.figure(title, "file_bytes"),
                "wrong": sum(run["wanted_bytes"] - run["right_bytes"] for run in series.runs[title]),
            }
            for title in cases
        },
    }


def page(data):
    rows = [
        [
            title,
            with_range(row["loop"]),
            with_range(row["whole"]),
            plain(row["calls_ms"]),
            plain(row["cpu"]),
            f"{data['wanted_bytes'] / row['file_bytes']['median']:.2f}",
            "all" if row["wrong"] == 0 else f"**{row['wrong']} wrong**",
        ]
        for title, row in data["rows"].items()
        if row["loop"] and title != "no output"
    ]
    return [
        f"{bytes_text(data['wanted_bytes'])} in each run; ratios are to no output.",
        "",
        *table(["", "loop", "whole", "in calls, ms", "CPU", "smaller", "right"], rows),
    ]
