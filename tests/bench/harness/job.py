# SPDX-License-Identifier: Apache-2.0
"""One run of the job: what it is, its command, its figures."""

import dataclasses
import json
import os
import pathlib
import shutil
import statistics

from . import launch, machine
from .methods import METHODS
from .quiet import Watch
from .tools import BUILD, SYSTEM_PYTHON, Missing, adios2_interpreter

_HERE = pathlib.Path(__file__).resolve().parent
_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_XML = """<simulation name="job">
  <architecture><dedicated cores="1"/><buffer size="{buffer}MiB" timeout="60s"/></architecture>
  <data>
    <parameter name="n" type="int"/><parameter name="ranks" type="int"/>
    <layout name="row" type="double" dimensions="1,n" global="ranks,n"/><variable name="field" layout="row"/>
  </data>
  <storage>
    <store name="out" type="hdf5" folder="{folder}" durability="{durability}" compression="{compression}"/>
  </storage>
  <log level="error"/>
</simulation>
"""


@dataclasses.dataclass(frozen=True)
class Placement:
    """Who may use which cores. All ways have the same ones."""

    name: str
    ranks: tuple  # the core of each
    helpers: tuple  # what is not a rank: servers, threads, writers


def placements():
    cores = tuple(machine.cores())
    shared = Placement("no core to spare", cores, cores)
    return [Placement("a spare core", cores[:-1], cores[-1:]), shared] if len(cores) > 1 else [shared]


def node_bytes():
    """What a node puts out in an iteration: of large machines less than their cores would."""
    return min(64 << 20, len(machine.cores()) * 8 << 20)


@dataclasses.dataclass(frozen=True)
class Case:
    method: str
    placement: Placement
    work: int  # units of computing per iteration, see ../job/work.hpp
    node_bytes: int  # that all ranks together write in an iteration
    iterations: int
    warm_up: int = 5
    durable: bool = False
    compression: str = "none"

    @property
    def rank_bytes(self):
        return self.node_bytes // len(self.placement.ranks) // 8 * 8


class Jobs:
    """Runs cases in a folder on the disk that is to be measured."""

    def __init__(self, folder):
        self._folder = pathlib.Path(folder).resolve()

    def missing(self):
        """{method: why it cannot be measured}."""
        found = {}
        for name, method in METHODS.items():
            try:
                method.program(name)
            except Missing as why:
                found[name] = str(why)
        return found

    def measure(self, case):
        """Figures of one run; its output is looked through, and removed."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        command = self._command(case)
        if machine.gives_pages_back():
            self._fill_pool(case)
        watch = Watch()
        _, spent = launch.run(command, cwd=self._folder, env=os.environ | _MPI)
        others = watch.others(spent)
        figures = _figures(json.loads((self._folder / "result.json").read_text()))
        figures |= {"others": others, "all_cpu_s": spent} | self._verified(case)
        figures["file_bytes"] = sum(p.stat().st_blocks * 512 for p in self._folder.rglob("*") if p.is_file())
        shutil.rmtree(self._folder)
        return figures

    def _command(self, case):
        method, ranks = METHODS[case.method], len(case.placement.ranks)
        config = self._folder / "job.xml"
        config.write_text(
            _XML.format(
                folder=self._folder,
                compression=case.compression,
                durability="iteration" if case.durable else "none",
                buffer=max(32, 4 * case.node_bytes >> 20),
            )
        )
        plan = {
            "method": case.method,
            "warm_up": case.warm_up,
            "iterations": case.iterations,
            "bytes": case.rank_bytes,
            "work": case.work,
            "durable": int(case.durable),
            "folder": self._folder,
            "config": config,
            "result": self._folder / "result.json",
            "cores": ",".join(map(str, case.placement.ranks)),
            "helpers": ",".join(map(str, case.placement.helpers)),
        }
        if machine.gives_pages_back():
            plan["pool"] = self._folder / "pool"
        if case.compression.startswith("deflate:"):
            plan["deflate"] = case.compression.partition(":")[2]
        program = method.program(case.method)
        if len(program) > 1:  # an interpreter and the job in its language
            plan["work_library"] = BUILD / "lib/libleat_bench_work.so"
        return [
            "mpirun",
            "-n",
            ranks + method.extra_ranks,
            "--oversubscribe",
            "--bind-to",
            "none",
            *program,
            *(f"{name}={value}" for name, value in plan.items()),
        ]

    def _fill_pool(self, case):
        """Pages for all that the run will write and for its buffers, see ../job/page_pool.hpp. Written as the
        output is: the system makes groups of pages as large as the write."""
        block = bytes(case.rank_bytes)
        with open(self._folder / "pool", "wb", buffering=0) as pool:
            for _ in range((case.iterations + case.warm_up + 10) * len(case.placement.ranks)):
                pool.write(block)

    def _verified(self, case):
        method, iterations = METHODS[case.method], case.iterations + case.warm_up
        if not method.reads:
            return {"right_bytes": 0, "wanted_bytes": 0}
        interpreter = adios2_interpreter() if method.reads == "bp5" else SYSTEM_PYTHON
        said, _ = launch.run(
            [
                interpreter,
                "-B",
                _HERE / "verify.py",
                method.reads,
                self._folder,
                len(case.placement.ranks),
                iterations,
                case.rank_bytes // 8,
            ]
        )
        right, wanted = map(int, said.split(" of "))
        return {"right_bytes": right, "wanted_bytes": wanted}


def percentile(values, part):
    values = sorted(values)
    return values[round(part * (len(values) - 1))]


def _figures(result):
    """Of what the job said: seconds, but milliseconds of calls."""
    calls, iterations = result.pop("call_ns"), result.pop("iteration_ns")
    return result | {
        "total_s": result["start_s"] + result["loop_s"] + result["finish_s"],
        "sleeps": result["switches"] / len(calls),
        "call_p50_ms": percentile(calls, 0.5) / 1e6,
        "call_p99_ms": percentile(calls, 0.99) / 1e6,
        "call_max_ms": max(calls) / 1e6,
        "calls_ms_per_iteration": statistics.mean(calls) / 1e6,
        "iteration_p50_ms": percentile(iterations, 0.5) / 1e6,
        "variation": statistics.pstdev(iterations) / statistics.mean(iterations),
        "p99_over_p50": percentile(iterations, 0.99) / percentile(iterations, 0.5),
        "helper_idle": 1 - result["helper_s"] / result["loop_s"],
    }
