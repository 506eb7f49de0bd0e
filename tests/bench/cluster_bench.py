# SPDX-License-Identifier: Apache-2.0
"""cluster_bench.py OUT.json [--quick]: functions of the whole run with Dask. From the moment when ranks begin to write an
iteration, and from its end, to the call; bytes that are copied for chunks; how long a scheduler needs for the chunks of many servers;
and what deisa-dask takes for the same."""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "scripts")]
from cluster_run import rows_of  # noqa: E402
from leat_run import xml  # noqa: E402
from nodes_run import NodesRun  # noqa: E402
from script_run import put  # noqa: E402

ROWS, WIDTH = 128, 1024  # of doubles: 1 MiB for each server
WARM_UP = 3  # iterations: the cluster is made in the first one
WAIT_S = 60

CALLED = """
    import time
    import leat
    from dask.distributed import default_client

    def copied():
        from leat.cluster import node
        return node.copied

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def called(ds, ctx):
        ctx.scalar("at", time.monotonic_ns())
        ds["u"].sum().compute()
        ctx.scalar("copied", sum(default_client().run(copied).values()))
"""


def config(servers, python):
    data = f"""<layout name="rows" type="double" dimensions="{ROWS},{WIDTH}" global="{ROWS * servers},{WIDTH}" names="y,x"/>
      <variable name="u" layout="rows"/>"""
    return xml(data, store="", log=f'<scripts interpreter="{python}"><folder path="analysis"/></scripts><log file="log"/>')


def await_row(folder, iteration):
    until = time.monotonic() + WAIT_S
    while iteration not in (rows := rows_of(folder)):
        if time.monotonic() > until:
            raise SystemExit(f"iteration {iteration} of {folder} is not called: {(folder / 'log').read_text()[-2000:]}")
        time.sleep(0.02)
    return rows[iteration]


def to_the_call(servers, python, iterations):
    """{"from_write_ns", "from_end_ns": [...], "copied_bytes"}; one rank for each server, all on this machine."""
    found = {"servers": servers, "from_write_ns": [], "from_end_ns": [], "copied_bytes": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        put(folder, "called", CALLED.replace("\n    ", "\n"))
        (folder / "analysis/called.py").rename(folder / "analysis/of_run.py")
        with NodesRun(folder, config(servers, python), [[rank] for rank in range(servers)]) as run:
            ranks = run.init()
            for rank in ranks:
                rank.must("set_position", "u", 0, f"{ROWS * rank.number},0")
            for i in range(WARM_UP + iterations):
                began = time.monotonic_ns()
                together(ranks, lambda rank, i=i: ("write", "u", 0, 8 * ROWS * WIDTH, i))
                ends = time.monotonic_ns()
                together(ranks, lambda rank: ("end_iteration",))
                row = await_row(folder, i)
                if i >= WARM_UP:
                    found["from_write_ns"].append(int(row["at"]) - began)
                    found["from_end_ns"].append(int(row["at"]) - ends)
                    found["copied_bytes"] = int(row["copied"])
            run.finish()
    return found


def together(ranks, words):
    for rank in ranks:
        rank.start(*words(rank))
    for rank in ranks:
        answer = rank.result()
        assert answer.ok, answer


def of(python, program, *words):
    """What the program prints as JSON in its last line."""
    done = subprocess.run([python, HERE / program, *map(str, words)], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise SystemExit(f"{program}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def python_of(name):
    """Of tools/<name>.txt, where it is made; else None."""
    tools = TESTS.parent / "tools"
    made = subprocess.run([tools / "python_environment", "--made", tools / f"{name}.txt"], capture_output=True, text=True)
    return made.stdout.strip() + "/bin/python" if made.returncode == 0 else None


def main(out, quick):
    servers, iterations, turns, workers = ((1, 2), 2, 1, 4) if quick else ((1, 4, 8), 15, 3, 64)
    newest, deisa = python_of("dask"), python_of("deisa")
    python = newest or sys.executable
    found = {"of": of(python, "cluster_submit.py", 0, 1)["dask"], "bytes": 8 * ROWS * WIDTH,
             "calls": [to_the_call(each, python, iterations) for each in servers],
             "scheduled": [of(each, "cluster_submit.py", workers, 5) for each in (sys.executable, newest) if each], "beside": None}
    if newest and deisa:
        ours, theirs, ranks = [], [], 2 if quick else 4
        for _ in range(turns):
            ours += to_the_call(ranks, newest, iterations)["from_write_ns"]
            theirs += of(deisa, "cluster_deisa.py", ranks, WARM_UP, iterations, ROWS, WIDTH)
        found["beside"] = {"servers": ranks, "leat_ns": ours, "deisa_ns": theirs,
                           "ratio": statistics.median(theirs) / statistics.median(ours)}
    out.write_text(json.dumps(found))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), "--quick" in sys.argv)
