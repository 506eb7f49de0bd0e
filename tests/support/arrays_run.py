# SPDX-License-Identifier: Apache-2.0
"""A run whose ranks write arrays of NumPy, and the products that are in its file."""
import pathlib
import subprocess
import sys

import h5py
import numpy as np
from leat_run import BUILD, LIMIT, Run
from nodes_run import NodesRun

RANK = pathlib.Path(__file__).parent / "arrays_rank.py"


def write_arrays(folder, text, by_rank, after=None, nodes=1, make=NodesRun):
    """by_rank: for each rank {(variable, iteration): array}; see arrays_rank.py for more. after(run, iteration) is called when all
    ranks have ended one, and returns those of run.processes that it has killed.
    nodes: the ranks are divided among so many; make(folder, text, nodes) is that run. Returns the log."""
    each = len(by_rank) // nodes
    run = make(folder, text, [[] for _ in range(nodes)]) if nodes > 1 else Run(folder, text, ranks=0)
    run.processes = ranks = []
    for number, arrays in enumerate(by_rank):
        file = run.folder / f"rank{number}.npz"
        np.savez(file, **{f"{variable}.{iteration}": array for (variable, iteration), array in arrays.items()})
        words = [sys.executable, RANK, BUILD / "lib/libleat.so", run.config, run.session, number, len(by_rank), file]
        environment = run.on(number // each).environment if nodes > 1 else run.environment
        if nodes > 1:
            words += [number % each, each]
        ranks.append(subprocess.Popen([str(word) for word in words], cwd=run.folder, env=environment, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(run.folder / f"rank{number}.err", "w")))
    said = [rank.stdout.readline().strip() for rank in ranks]
    while said[0].isdigit():
        killed = after(run, int(said[0])) if after else ()
        ranks = [rank for rank in ranks if rank not in (killed or ())]
        for rank in ranks:
            rank.stdin.write("\n")
            rank.stdin.flush()
        said = [rank.stdout.readline().strip() for rank in ranks]
    log = ""
    for number, rank in enumerate(run.processes):
        if rank not in ranks:
            rank.wait(LIMIT)
            continue
        rank.stdin.close()
        code = rank.wait(LIMIT)
        log += (run.folder / f"rank{number}.err").read_text()
        assert code == 0, log
    run.await_end()
    if len(ranks) == len(run.processes):  # a node that was killed leaves what its next start takes
        run.check_nothing_left()
    return log


def products(folder, store, part=""):
    """{name: array over iterations} of a store's products, and their iterations. part: of a view, "parts/rank000000/"."""
    with h5py.File(pathlib.Path(folder) / "run.h5") as file:
        group = file[f"{part}products/{store}"]
        return {name: group[name][:] for name in group}, group["iteration"][:].tolist()


def option(name, value):
    return f'<option name="{name}" value="{value}"/>'


def store(name, type_, **options):
    return f'<store name="{name}" type="{type_}">' + "".join(option(*each) for each in options.items()) + "</store>"


