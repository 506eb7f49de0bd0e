# SPDX-License-Identifier: Apache-2.0
"""What scripts cost: the time until they see an iteration, what their arrays cost, and what the simulation notices of them.

scripts_bench.py BUILD [FILE]: prints one screen, and writes all figures as JSON to FILE. What is compared takes turns of a
fraction of a second, so that ratios hold on noisy machines.
"""
import csv
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    print(f"\nWhat scripts cost is not measured: {sys.executable} has no NumPy.")
    sys.exit(0)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python-plugins"))
sys.dont_write_bytecode = True
from leat.scripting.blocks import RECORD  # noqa: E402
from leat.scripting.datasets import xarray  # noqa: E402
from leat.scripting.iteration import LiveIteration  # noqa: E402
from leat.scripting.model import Model  # noqa: E402
from leat.scripting.views import SharedMemories  # noqa: E402

MIB = 1 << 20
CORES = len(os.sched_getaffinity(0))
DEDICATED = 2 if CORES > 2 else 1  # of two a busy script has one, and the server the other
KINDS = ("xarray", "numpy") if xarray() else ("numpy",)

XML = """<simulation name="bench">
  <architecture><dedicated cores="{cores}"/><buffer size="256MiB" timeout="30s"/></architecture>
  <data><layout name="bytes" type="uint8" dimensions="{bytes}"/><variable name="never" layout="bytes"/>{variables}</data>
  <storage><store name="discard" library="{discard}"/></storage>
  {scripts}
  <log level="error"/>
</simulation>
"""

# Says that it is there, then what it is asked to do.
SCRIPT = """import pathlib, time
import leat
pathlib.Path({ready!r}).touch()
@leat.on_iteration({how})
def process(ds, ctx):
    began = time.monotonic_ns()
    {what}
"""
LATENCY = 'ctx.scalar("began", began)'
# Computes most of the time, in the caches: what is measured is what Leat costs, not who gets the memory bus.
BUSY = "while time.monotonic_ns() < began + 20_000_000: sum(range(1000))"


class Simulation:
    """One run of leat_scripts_client, warm and stopped. Without `how` there is no <scripts>."""

    def __init__(self, build, folder, variables, bytes_, compute_us, how=None, what="pass"):
        self._folder = folder
        folder.mkdir()
        ready, scripts = "", ""
        if how is not None:
            ready = str(folder / "ready")
            (folder / "bench.py").write_text(SCRIPT.format(ready=ready, how=how, what=what))
            scripts = (f'<scripts interpreter="{sys.executable}" output="{folder}/out">'
                       f'<script file="{folder}/bench.py"/></scripts>')
        declared = "".join(f'<variable name="v{i}" layout="bytes"/>' for i in range(variables))
        (folder / "bench.xml").write_text(XML.format(cores=DEDICATED, bytes=bytes_, variables=declared, scripts=scripts,
                                                     discard=build / "lib/leat/bench/discard.so"))
        self._process = subprocess.Popen([build / "bin/leat_scripts_client", folder / "bench.xml", folder / "rows", ready,
                                          str(variables), str(bytes_), "50", str(compute_us)], cwd=folder)
        self._wait_until_stopped()
        self._turns = []

    def run_for(self, seconds):
        began = time.monotonic_ns()
        self._process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        self._turns.append((began, time.monotonic_ns()))
        self._process.send_signal(signal.SIGSTOP)
        self._wait_until_stopped()

    def finish(self):
        """Rows of each turn, without the first two, which wake what slept; and {iteration: ns at which the script began}."""
        self._process.send_signal(signal.SIGTERM)
        self._process.send_signal(signal.SIGCONT)
        if self._process.wait() != 0:
            sys.exit("the simulation failed")
        rows = np.fromfile(self._folder / "rows", [(n, "<i8") for n in ("iteration", "ended", "write", "memcpy")])
        turns = [rows[(rows["ended"] > began) & (rows["ended"] < ended)][2:] for began, ended in self._turns]
        began = {}
        if (self._folder / "out/bench.csv").exists():
            with open(self._folder / "out/bench.csv", newline="") as table:
                began = {int(row["iteration"]): int(row["began"]) for row in csv.DictReader(table)}
        return turns, began

    def kill(self):
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()

    def _wait_until_stopped(self):
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            self._process.returncode = os.waitstatus_to_exitcode(status)
            sys.exit("the simulation failed")


def in_turns(build, cases, turns, seconds):
    """{case: (rows of each turn, when the script began)} of simulations that run one after the other, again and again."""
    with tempfile.TemporaryDirectory(prefix="leat-bench-") as folder:
        simulations = {}
        try:
            for case, how in cases.items():
                simulations[case] = Simulation(build, pathlib.Path(folder) / str(len(simulations)), **how)
            for _ in range(turns):
                for simulation in simulations.values():
                    simulation.run_for(seconds)
                    time.sleep(0.05)  # its script ends what it does
            return {case: simulation.finish() for case, simulation in simulations.items()}
        finally:
            for simulation in simulations.values():
                simulation.kill()  # what is stopped would stay


def latencies(build, report):
    print("\nFrom the return of leat_end_iteration to a script's first line, microseconds (p50 of the best and the worst turn):")
    cases = {(n, bytes_, kind): {"variables": n, "bytes_": bytes_, "compute_us": 5000, "how": f'arrays="{kind}"', "what": LATENCY}
             for n, bytes_ in ((1, MIB), (20, 64 << 10)) for kind in KINDS}
    for (n, bytes_, kind), (turns, began) in in_turns(build, cases, 12, 0.4).items():
        us = [[(began[i] - ended) / 1000 for i, ended in zip(rows["iteration"], rows["ended"]) if i in began] for rows in turns]
        each = [statistics.median(turn) for turn in us if turn]
        name = f"{n} variable{'s' * (n > 1)} of {size_text(bytes_)}, {kind}"
        if not each:
            print(f"  {name:31} nothing: this machine is too busy")
            continue
        p50, p90, p99 = np.percentile(sum(us, []), (50, 90, 99))
        print(f"  {name:31} p50 {p50:6.0f} ({min(each):.0f} .. {max(each):.0f})  p90 {p90:6.0f}  p99 {p99:6.0f}"
              + aim(p50 / 1000, 1.0, "ms"))
        report.append({"what": "latency", "variables": n, "bytes": bytes_, "arrays": kind, "samples": sum(map(len, us)),
                       "p50_us": p50, "p90_us": p90, "p99_us": p99, "p50_us_of_turns": each})


def view_times(report):
    sizes = [1 << 10, 32 << 10, MIB, 32 * MIB, 256 * MIB]
    offsets = np.cumsum([0, *sizes])
    descriptor = os.memfd_create("leat-bench")
    os.ftruncate(descriptor, int(offsets[-1]))
    dimension = {"name": "x", "low": 0, "high": 0, "varying": False}
    model = Model.from_json({"simulation": "bench", "parameters": [], "variables": [
        {"name": f"v{i}", "unit": "", "description": "", "type": "uint8", "dimensions": [dimension], "global": False,
         "time_varying": True} for i in range(len(sizes))]})
    memories = SharedMemories(f"/proc/self/fd/{descriptor}", descriptor)
    orders = np.zeros(len(sizes), RECORD)
    orders["variable"], orders["offset"], orders["bytes"] = range(len(sizes)), offsets[:-1], sizes
    orders["level"], orders["extent"][:, 0] = -1, sizes
    head = {"iteration": 0, "complete": True, "parameters": {}, "files": [], "signals": [], "products": [],
            "data_of_products": RECORD.itemsize}

    def once(i, kind):
        began = time.perf_counter_ns()
        ds, end = LiveIteration(model, head, orders[i:i + 1], memories).dataset([f"v{i}"], kind)
        ns = time.perf_counter_ns() - began
        del ds
        end()
        return ns

    print("\nOne block as a dataset in the worker, microseconds, by its size; nothing is copied:")
    for kind in KINDS:
        samples = [[] for _ in sizes]
        for turn in range(2000):
            for i in np.roll(range(len(sizes)), turn):
                samples[i].append(once(i, kind) / 1000)
                assert memories.take_back() == []
        medians = [statistics.median(s) for s in samples]
        listed = "  ".join(f"{size_text(n)} {m:.1f}" for n, m in zip(sizes, medians))
        print(f"  {kind:8} {listed}" + aim(max(medians) / min(medians), 1.2, "x"))
        report.append({"what": "view", "arrays": kind, "us": dict(zip(map(str, sizes), medians))})
    os.close(descriptor)


def write_times(build, report):
    print("\nleat_write of 1 MiB, one client, microseconds; the simulation computes 1 ms in each iteration (best .. worst turn):")
    none = "no <scripts>"
    cases = {none: {}, "idle script": {"how": 'variables=["never"]'}, "busy script": {"how": "", "what": BUSY}}
    found = in_turns(build, {case: {"variables": 1, "bytes_": MIB, "compute_us": 1000, **how} for case, how in cases.items()}, 40, 0.1)
    whole = [i for i in range(40) if all(len(turns[i]) for turns, _ in found.values())]  # of a busy machine some are empty
    if not whole:
        print("  nothing: this machine is too busy")
        return
    medians = {case: {what: np.array([np.median(turns[i][what]) / 1000 for i in whole]) for what in ("write", "memcpy")}
               for case, (turns, _) in found.items()}
    if np.median(medians[none]["write"]) > 10 * np.median(medians[none]["memcpy"]):
        print("  NOTE: even without scripts the server does not get its core in time: the ratios say little")
    for case, of in medians.items():
        ratios = of["write"] / medians[none]["write"]
        ratio = float(np.median(ratios))
        write, copy = (f"{np.median(v):.0f} ({v.min():.0f} .. {v.max():.0f})" for v in of.values())
        told = f"over {none} {ratio:.2f}, middle half {np.percentile(ratios, 25):.2f} .. {np.percentile(ratios, 75):.2f}"
        print(f"  {case:13} p50 {write:20} memcpy {copy:16}" + (told + aim(ratio, 1.05, "x")) * (case != none))
        report.append({"what": "write", "case": case, "over_none": ratio, "write_us_of_turns": of["write"].tolist(),
                       "memcpy_us_of_turns": of["memcpy"].tolist()})


def size_text(count):
    return f"{count // MIB}MiB" if count >= MIB else f"{count >> 10}KiB"


def aim(value, most, unit):
    return f"  {value:.2f} {unit}, aim {most:.2f}: {'reached' if value <= most else 'NOT reached'}"


def main(build, result=None):
    print(f"\nScripts, on {CORES} cores" + ("." if CORES > 2 else ": the server and the scripts share one, which is where they wait."))
    report = []
    latencies(build, report)
    view_times(report)
    write_times(build, report)
    if result:
        pathlib.Path(result).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), *sys.argv[2:])
