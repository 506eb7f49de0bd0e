# SPDX-License-Identifier: Apache-2.0
"""What graphs cost: a hop between two modules, an array for many, a chain behind a simulation, a slow viewer behind a quick producer.

graph_bench.py BUILD [FILE]: prints one screen, and writes all figures as JSON to FILE. LEAT_BENCH_SECONDS: of the last part (10).
"""
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[0] / "graph"), str(HERE.parents[0] / "support")]
os.environ["LEAT_BUILD"] = sys.argv[1]
from graph_run import graph_run, module, modules_of, plan, product, program, variable  # noqa: E402
from leat_run import BUILD, xml  # noqa: E402

MIB = 1 << 20
LOG = f'<scripts interpreter="{sys.executable}"><script file="plan.json" form="graph"/></scripts><log level="error"/>'
FIELD = ('<layout name="field" type="double" dimensions="{0}"/><variable name="a" layout="field"/>'
         '<layout name="never" type="double" dimensions="1"/><variable name="b" layout="never"/>')
NO_STORE = f'<store name="out" library="{BUILD}/lib/leat/bench/discard.so"/>'
MAKE = """
    import time
    import numpy as np
    import leat.module as module
    count = module.options()["count"]
    while module.wait():
        array = module.memory(count)
        array[0] = time.monotonic_ns() / 1e9
        module.put("m", array)
"""
TAKE = """
    import time
    import leat.module as module
    with open(module.name() + ".took", "w", 1) as file:
        while module.wait():
            first = module.get("m")[0]
            file.write(f"{module.iteration()} {1e9 * time.monotonic_ns() / 1e9 - 1e9 * first}\\n")
"""
PASS = """
    import leat.module as module
    while module.wait():
        module.put("m", module.get("m")[:1000].copy())
"""
VIEW = """
    import time
    import leat.module as module
    with open(module.name() + ".took", "w", 1) as file:
        while module.wait():
            module.get("m")
            file.write(f"{module.iteration()} {time.monotonic_ns()}\\n")
            time.sleep(0.005)
"""


def step(run, number, size, pause):
    for rank in run.ranks:
        rank.must("write", "a", 0, size, number)
        rank.must("end_iteration")
    time.sleep(pause)


def took(folder, name):
    return [tuple(map(float, line.split())) for line in (folder / f"{name}.took").read_text().splitlines()]


def hop(folder, count, takers, iterations=60):
    """Median and range of microseconds from put() in one module to get() in others, and how much memory one array takes for all."""
    plan(folder, module("make", program(folder, "make", MAKE), [variable(port="u")], ["m"], options={"count": count}),
         *(module(f"take{i}", program(folder, "take", TAKE), [product("make/m", port="m")]) for i in range(takers)))
    with graph_run(folder, xml(FIELD.format(8), log=LOG, store=NO_STORE, buffer="64MiB")) as run:
        step(run, 0, 64, 0)
        until = time.monotonic() + 60
        while not all(has_taken(folder, i) for i in range(takers)):
            assert time.monotonic() < until, "modules do not start"
            time.sleep(0.01)
        for number in range(1, iterations):
            step(run, number, 64, 0.02)
        shared = memory_of_modules(run)
    times = [ns / 1000 for i in range(takers) for _, ns in took(folder, f"take{i}")[10:]]
    return {"median_us": statistics.median(times), "least_us": min(times), "most_us": max(times), "arrays_in_memory": shared / (8 * count)}


def has_taken(folder, number):
    path = folder / f"take{number}.took"
    return path.exists() and path.stat().st_size > 0


def memory_of_modules(run):
    """Bytes of what modules have put, as the server's files have them."""
    total, seen = 0, set()
    for entry in pathlib.Path(f"/proc/{run.server()}/fd").iterdir():
        try:
            if "leat-module" in os.readlink(entry):
                facts = entry.stat()
                if facts.st_ino not in seen:
                    seen.add(facts.st_ino)
                    total += facts.st_blocks * 512
        except OSError:
            continue
    return total


def chain(folder, with_graph, megabytes=32, iterations=40):
    """Seconds that a simulation took which writes so much and computes meanwhile; with three modules behind it, or none."""
    passes = program(folder, "pass", PASS)
    names = ["c0", "c1", "c2"] if with_graph else []
    plan(folder, *(module(name, passes, [variable(port="m") if i == 0 else product(f"{names[i - 1]}/m", port="m")], ["m"])
                   for i, name in enumerate(names)))
    size = megabytes * MIB
    with graph_run(folder, xml(FIELD.format(size // 8), log=LOG, store=NO_STORE, buffer="512MiB")) as run:
        for number in range(5):
            step(run, number, size, 0.03)
        began = time.monotonic()
        for number in range(5, iterations):
            step(run, number, size, 0.03)
        return (time.monotonic() - began) / (iterations - 5)


def viewer(folder, seconds):
    """A producer of 1,000 iterations a second, and a viewer of 30."""
    plan(folder, module("view", program(folder, "view", VIEW), [variable(port="m", rate=30.0)], latest=True))
    with graph_run(folder, xml(FIELD.format(8), log=LOG, store=NO_STORE, buffer="64MiB")) as run:
        rank, calls = run.ranks[0], 0
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            rank.must_all([["write", "a", 0, 64, calls], ["end_iteration"]])
            calls += 1
            time.sleep(max(0.0, calls / 1000 - (time.monotonic() - began)))
        rate = calls / (time.monotonic() - began)
        seen = took(folder, "view")
        lag = calls - 1 - seen[-1][0]
        waiting = max_waiting(run)
    frames = len(seen) / ((seen[-1][1] - seen[0][1]) / 1e9)
    return {"produced_per_second": rate, "seen_per_second": frames, "iterations_behind": lag, "waiting": waiting}


def max_waiting(run):
    return max(each["waiting"] for each in modules_of(run).values())


def main():
    figures = {}
    with tempfile.TemporaryDirectory(prefix="leat-graph-bench") as name:
        base = pathlib.Path(name)

        def folder(what):
            path = base / what
            path.mkdir()
            return path

        for what, count, takers in (("hop, 8 KiB", 1024, 1), ("hop, 64 MiB", 8 * MIB, 1), ("hop, 64 MiB to 8", 8 * MIB, 8)):
            figures[what] = hop(folder(what), count, takers)
            print("  {:18}  median {median_us:7.0f} us, {least_us:.0f} to {most_us:.0f}; {arrays_in_memory:.1f} arrays in memory"
                  .format(what, **figures[what]), flush=True)
        times = {kind: [] for kind in (False, True)}
        for turn in range(6):
            times[turn % 2 == 1].append(chain(folder(f"chain{turn}"), turn % 2 == 1))
        without, with_graph = (statistics.median(times[kind]) for kind in (False, True))
        figures["chain"] = {"seconds_without": without, "seconds_with": with_graph, "ratio": with_graph / without}
        print(f"  chain of three      an iteration of 32 MiB takes {1000 * with_graph:.1f} ms with it, {1000 * without:.1f} without: "
              f"{with_graph / without:.3f}", flush=True)
        figures["viewer"] = viewer(folder("viewer"), float(os.environ.get("LEAT_BENCH_SECONDS", "10")))
        print("  latest, 30 Hz       {produced_per_second:.0f} iterations/s, {seen_per_second:.1f} seen/s, {waiting} waiting, "
              "{iterations_behind:.0f} behind at the end".format(**figures["viewer"]))
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(figures, indent=1) + "\n")


print("\nGraphs: from one module's put() to another one's get(), and what the simulation notices")
main()
