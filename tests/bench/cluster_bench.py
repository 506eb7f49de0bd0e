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

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "scripts")]
from cluster_run import rows_of  # noqa: E402
from leat_run import BUILD, xml  # noqa: E402
from script_run import put  # noqa: E402

ROWS, WIDTH = 128, 1024  # of doubles: 1 MiB for each server
WARM_UP = 3  # iterations: the cluster is made in the first one

CALLED = """
    import pathlib
    import time
    import leat
    import numpy as np
    from dask.distributed import default_client

    times = np.memmap(pathlib.Path(__file__).parents[1] / "times", "i8", "r+").reshape(3, -1)  # see cluster_leat.py

    def copied():
        from leat.cluster import node
        return node.copied

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def called(ds, ctx):
        at = time.monotonic_ns()
        ds["u"].sum().compute()
        ctx.scalar("copied", sum(default_client().run(copied).values()))
        times[1:, ctx.iteration] = at, time.monotonic_ns()
"""


def config(servers, python):
    data = f"""<layout name="rows" type="double" dimensions="{ROWS},{WIDTH}" global="{ROWS * servers},{WIDTH}" names="y,x"/>
      <variable name="u" layout="rows"/>"""
    return xml(data, store="", log=f'<scripts interpreter="{python}"><folder path="analysis"/></scripts><log file="log"/>')


def to_the_call(servers, python, iterations):
    """{"from_write_ns", "from_end_ns", "to_result_ns": [...], "copied_bytes"}; one rank for each server, all on this machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        put(folder, "of_run", CALLED)
        (folder / "run.xml").write_text(config(servers, python))
        told = of(sys.executable, "cluster_leat.py", servers, WARM_UP, iterations, ROWS, WIDTH, folder, BUILD / "lib/libleat.so")
        copied = [int(row["copied"]) for row in rows_of(folder).values()]
    return {"servers": servers, **told, "copied_bytes": max(copied)}


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


def beside(ranks, newest, deisa, iterations, turns):
    """Both take turns, since whatever else the machine does changes."""
    ours, theirs = [], []
    for _ in range(turns):
        ours.append(to_the_call(ranks, newest, iterations))
        theirs.append(of(deisa, "cluster_deisa.py", ranks, WARM_UP, iterations, ROWS, WIDTH))
    all_of = lambda told, name: [ns for turn in told for ns in turn[name]]  # noqa: E731
    leat_ns, deisa_ns = all_of(ours, "from_write_ns"), all_of(theirs, "from_write_ns")
    return {"leat_ns": leat_ns, "deisa_ns": deisa_ns, "ratio": statistics.median(deisa_ns) / statistics.median(leat_ns),
            "leat_result_ns": all_of(ours, "to_result_ns"), "deisa_result_ns": all_of(theirs, "to_result_ns")}


def main(out, quick):
    servers, iterations, turns, workers = ((1, 2), 2, 1, 4) if quick else ((1, 4, 8), 15, 3, 64)
    newest, deisa = python_of("dask"), python_of("deisa")
    python = newest or sys.executable
    found = {"of": of(python, "cluster_submit.py", 0, 1)["dask"], "bytes": 8 * ROWS * WIDTH,
             "calls": [to_the_call(each, python, iterations) for each in servers],
             "scheduled": [of(each, "cluster_submit.py", workers, 5) for each in (sys.executable, newest) if each], "beside": None}
    if newest and deisa:
        ranks = 2 if quick else 4
        found["beside"] = {"servers": ranks, **beside(ranks, newest, deisa, iterations, turns)}
    out.write_text(json.dumps(found))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), "--quick" in sys.argv)
