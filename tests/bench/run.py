#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Leat beside what users would do otherwise: results.md, results.json and pictures in the folder OUT, which
should lie on the disk that is to be measured. make bench runs it.

    run.py OUT                     all sections, under 20 minutes
    run.py OUT --only scale        these sections
    run.py OUT --minutes 5         in less time, with fewer repetitions; each case is measured once at least
    run.py OUT --quick             all of them, tiny and once: whether it works
    run.py OUT --into PAGE.md      measures nothing: writes the figures of OUT/results.json into that page
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from harness import launch, machine, page, pictures  # noqa: E402
from harness.context import Context  # noqa: E402
from harness.job import Jobs  # noqa: E402
from harness.sections import SECTIONS  # noqa: E402
from harness.tools import BUILD, ROOT  # noqa: E402


def measure(out, names, quick, minutes):
    out.mkdir(parents=True, exist_ok=True)
    usual = sum(SECTIONS[name].SECONDS for name in names)
    context = Context(
        out, Jobs(out / "job"), units_per_second(), quick, patience=60 * minutes / usual if minutes else 1
    )
    sections = {}
    for name in names:
        try:
            sections[name] = SECTIONS[name].measure(context)
        except launch.Failed as why:  # the others are worth having
            context.failures.append(f"{name}: {why}")
    return {
        "quick": quick,
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "minutes": (time.monotonic() - context.began) / 60,
        "machine": machine.describe(out),
        "discarded": context.discarded,
        "wrong_bytes": context.wrong_bytes,
        "failures": context.failures,
        "sections": sections,
    }


def units_per_second():
    said, _ = launch.run(["taskset", "-c", machine.cores()[0], BUILD / "bin/leat_bench_job", "calibrate"])
    return float(said)


def commit():
    git = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return git.stdout.strip() or "an unknown commit"


def save(results, out):
    results["pictures"] = pictures.draw(results["sections"], out)
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "results.md").write_text(page.page(results))
    print(f"{out / 'results.md'}: {results['minutes']:.0f} minutes")
    for why in results["failures"]:
        print(f"failed: {why}", file=sys.stderr)
    return 1 if results["failures"] or results["wrong_bytes"] else 0


def put_into(documentation, out):
    """Pictures go where those of the documentation are."""
    results = json.loads((out / "results.json").read_text())
    folder = ROOT / "docs/pictures"
    made = pictures.draw(results["sections"], folder, prefix="performance-")
    results["pictures"] = {name: f"../pictures/{file}" for name, file in made.items()}
    page.put_into(documentation, results)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("out", type=pathlib.Path)
    words.add_argument(
        "--only", default=",".join(SECTIONS), help="names of sections, separated by commas: " + ", ".join(SECTIONS)
    )
    words.add_argument("--quick", action="store_true")
    words.add_argument("--minutes", type=float)
    words.add_argument("--into", type=pathlib.Path)
    said = words.parse_args()
    if said.into:
        put_into(said.into, said.out)
        return 0
    unknown = set(said.only.split(",")) - set(SECTIONS)
    if unknown:
        words.error(f"no such section: {', '.join(sorted(unknown))}")
    return save(measure(said.out.resolve(), said.only.split(","), said.quick, said.minutes), said.out.resolve())


if __name__ == "__main__":
    sys.exit(main())
