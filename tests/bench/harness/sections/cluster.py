# SPDX-License-Identifier: Apache-2.0
"""What a function of the whole run waits for: the arrays of all servers, by Dask."""

from ..markdown import bytes_text, table, with_range
from ..repeat import spread
from ..tools import ROOT, SYSTEM_PYTHON

TITLE = "Functions of the whole run"
ABOUT = """`arrays="dask", scope="run"` with one rank for each server, all on this machine, and one iteration at a time: *to the call* is
from the moment when the last rank ends an iteration to the first line of the function. *Chunks* are scheduled in one process, without a
network. *deisa-dask* 0.6.3 sends the same arrays to as many workers, each a process, by a bridge for each rank; it and Leat take turns,
their ranks are the same program and begin each iteration together, and the time begins when they write, or send. *To the result* the
function has computed a sum of the whole array, which is Dask's work."""

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
            [f"from the write to the result, {of}", _ms(beside["leat_result_ns"])],
            [f"the same of deisa-dask, {of}", _ms(beside["deisa_result_ns"])],
        ]
    return table(["", ""], rows)


def _ms(values):
    return with_range(spread([value / 1e6 for value in values]), 1) + " ms"
