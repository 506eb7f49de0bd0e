# SPDX-License-Identifier: Apache-2.0
"""What a function of the whole run waits for: the arrays of all servers, by Dask."""

from ..markdown import bytes_text, table, with_range
from ..repeat import spread
from ..tools import ROOT, SYSTEM_PYTHON

TITLE = "Functions of the whole run"
ABOUT = """`arrays="dask", scope="run"` with one rank for each server, all on this machine, and one iteration at a time: *to the call* is
from the moment when ranks are told to end an iteration to the first line of the function; what ranks and the bench say to each other is in
it. *Chunks* are scheduled in one process, without a network. *deisa-dask* 0.6.3 sends the same arrays to as many workers, each a
process, by a bridge for each rank; it and Leat take turns, and the time begins when ranks are told to write, or bridges to send."""

SECONDS = 90


def measure(context):
    return context.figures_of("cluster", SYSTEM_PYTHON, ROOT / "tests/bench/cluster_bench.py", limit_s=600)


def page(data):
    rows = []
    for each in data["calls"]:
        rows.append([f"to the call, of {each['servers']} servers, Dask {data['of']}", _ms(each["from_end_ns"])])
        rows.append([f"copied for chunks of {bytes_text(data['bytes'])} that are one block", bytes_text(each["copied_bytes"])])
    for each in data["scheduled"]:
        rows.append([f"chunks of 2 variables of {each['workers']} servers are there, Dask {each['dask']}", _ms(each["ns"])])
    if beside := data["beside"]:
        of = f"of {beside['servers']} servers and {bytes_text(data['bytes'])} for each"
        rows += [
            [f"from the write to the call, {of}", _ms(beside["leat_ns"])],
            [f"the same of deisa-dask, {of}", _ms(beside["deisa_ns"])],
            ["deisa-dask over Leat", f"{beside['ratio']:.2f}"],
        ]
    return table(["", ""], rows)


def _ms(values):
    return with_range(spread([value / 1e6 for value in values]), 1) + " ms"
