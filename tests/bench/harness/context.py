# SPDX-License-Identifier: Apache-2.0
"""What all sections of a bench share."""

import dataclasses
import json
import pathlib
import time

from . import launch
from .job import Jobs
from .repeat import Series


@dataclasses.dataclass
class Context:
    folder: pathlib.Path  # on the disk that is measured
    jobs: Jobs
    units_per_second: float  # of the job's computing, see ../job/work.hpp
    quick: bool  # tiny and once: whether all works, not how fast
    patience: float = 1.0  # of the time that sections take for repetitions, the part that there is
    began: float = dataclasses.field(default_factory=time.monotonic)
    discarded: int = 0  # repetitions that somebody disturbed
    wrong_bytes: int = 0  # in the output of all runs
    failures: list = dataclasses.field(default_factory=list)  # of cases, and why

    def series(self, measure, cases, repetitions, seconds):
        """Repetitions of the cases in turn, as many as there is time for; each once when quick."""
        made = Series(measure, cases, *((1, 0) if self.quick else (repetitions, self.patience * seconds)), say=self.say)
        self.discarded += made.discarded()
        self.wrong_bytes += made.wrong_bytes()
        self.failures += [f"{case}: {why}" for case, why in made.failures.items()]
        return made

    def say(self, text):
        print(f"{time.monotonic() - self.began:5.0f} s  {text}", flush=True)

    def figures_of(self, name, *program, limit_s=120):
        """What a program of the bench writes into the file that it is given, as JSON."""
        self.say(name)
        result = self.folder / f"{name}.json"
        launch.run([*program, result, *["--quick"] * self.quick], limit_s=limit_s)
        return json.loads(result.read_text())

    def work(self, seconds):
        return int(seconds * self.units_per_second)
