# SPDX-License-Identifier: Apache-2.0
"""What analyses cost a simulation under each schedule.

schedules_bench.py [FOLDER [REPETITIONS]]: examples/md_tbb and examples/heat_openmp, the latter also with serial phases, with an
analysis that is short or long (beside what is computed between two analyses) and sequential or in pieces; the time until all of it has
ended, and until the simulation's last step has, over those of the simulation alone in the same turn. Prints tables;
FOLDER/schedules.md, .json and .png have them too, and FOLDER/cores.png shows of one run under each schedule what was on which core.
Checksums have to be equal under all schedules.
"""
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import launch, timeline  # noqa: E402
from harness.markdown import table, with_range  # noqa: E402
from harness.quiet import Watch  # noqa: E402
from harness.repeat import Series  # noqa: E402
from harness.tools import BUILD  # noqa: E402

CORES = sorted(os.sched_getaffinity(0))
HELPERS = 1
# Where the server is.
SCHEDULES = {"server": "process", "sync": "process", "idle": "process", "harvest": "process", "static": "thread", "dynamic": "thread"}
# Share of what is computed between two analyses that one of them takes on one core, and into how many pieces it is cut.
WORKLOADS = {"short sequential": (0.15, 1), "short parallel": (0.15, 64), "long sequential": (0.8, 1), "long parallel": (0.8, 64)}
SERIAL = "heat_openmp with serial phases"
CODES = {"md_tbb": ["300", "10"], "heat_openmp": ["300", "512"], SERIAL: ["400", "1024", "1"]}
# Steps from one analysis to the next: what is copied for one is not what is measured.
EVERY = {SERIAL: 20}
BUFFER = "64MiB"
FIGURES = {"seconds": "until all has ended", "computed": "until the last step"}
XML = {
    "md_tbb": '<layout name="l" type="double" dimensions="n,3"/><variable name="x" layout="l"/>'
              '<variable name="v" layout="l" store="none"/>',
    "heat_openmp": '<layout name="l" type="double" dimensions="n+1,n+1"/><variable name="T" layout="l"/>',
}


def program_of(code):
    return code.split()[0]


def every(code):
    return EVERY.get(code, 1)


def xml(code, schedule, rounds, pieces):
    return f"""<simulation name="bench">
<architecture><dedicated cores="{HELPERS}" place="{SCHEDULES[schedule]}"/><buffer size="{BUFFER}"/></architecture>
<data><parameter name="n" type="int"/><parameter name="t" type="double"/>{XML[program_of(code)]}</data>
<storage><store name="work" library="{BUILD}/lib/leat/bench/work.so" runs="{schedule}" when-slow="wait" products="" every="{every(code)}">
<option name="rounds" value="{rounds}"/><option name="pieces" value="{pieces}"/></store>
<store name="out" library="{BUILD}/lib/leat/bench/discard.so" every="{every(code)}"/></storage><log level="error"/></simulation>"""


def beside_helpers(code, schedule):
    """What keeps the simulation off the cores of the server."""
    if schedule != "server" and (schedule, program_of(code)) != ("static", "heat_openmp"):
        return []
    return ["taskset", "-c", ",".join(map(str, CORES[: max(1, len(CORES) - HELPERS)]))]


def run(folder, code, schedule, rounds=0, pieces=1, more=None):
    """{"seconds", "computed", "checksum", "others"} of one run; `schedule` None: the simulation alone. `more`: environment."""
    (folder / "bench.xml").write_text(xml(code, schedule or "server", rounds, pieces))
    environment = {k: v for k, v in os.environ.items() if k not in ("LEAT_RUNS", "LEAT_PLACE")}
    environment |= {"LEAT_RUNTIME_DIR": str(folder / "r"), "OMP_WAIT_POLICY": "passive"} | (more or {})
    if schedule is None:
        environment["LEAT"] = "off"
    watch = Watch()
    said, spent = launch.run([*beside_helpers(code, schedule), BUILD / "bin" / program_of(code), "bench.xml", *CODES[code]], cwd=folder,
                             env=environment)
    found = dict(re.findall(r"(\w+) (\S+)", said))
    return {"seconds": float(found["ended"]), "computed": float(found["computed"]), "checksum": found["checksum"],
            "others": watch.others(spent)}


def schedules_of(code):
    """`dynamic` on oneTBB alone, `harvest` where there are idle phases."""
    return [schedule for schedule in SCHEDULES if (code == "md_tbb" or not schedule.startswith("dynamic"))
            and (code == SERIAL or schedule != "harvest")]


def rounds_of_step(folder, code):
    """So many take as long on one core as what the simulation computes between two analyses: measured, while that waits for them."""
    analyses = int(CODES[code][0]) // every(code)

    def medians(rounds):
        """For each analysis: alone, with an analysis that does nothing, and with so many rounds."""
        turns = [[run(folder, code, *case)["seconds"] / analyses for case in ((None,), ("sync", 0), ("sync", rounds))] for _ in range(3)]
        return map(statistics.median, zip(*turns))

    for rounds in (4**i / 16 for i in range(10)):
        alone, without, several = medians(rounds)
        if several - without > alone / 2:  # more than noise
            return alone * rounds / (several - without)
    raise RuntimeError("no number of rounds takes half of that time")


def measure(folder, repetitions, say=print):
    found = {}
    for code in CODES:
        of_step = rounds_of_step(folder, code)
        for workload, (share, pieces) in WORKLOADS.items():
            rounds = share * of_step
            cases = ["alone", *schedules_of(code)]
            say(f"{code}, {workload}: {rounds:.3g} rounds")
            series = Series(lambda case: run(folder, code, None if case == "alone" else case, rounds, pieces), cases, repetitions, 600)
            sums = {each["checksum"] for case in cases for each in series.runs[case]}
            assert len(sums) == 1 and not series.failures, (sums, series.failures)
            found[f"{code}, {workload}"] = {
                "rounds": rounds, "runs": series.runs,
                **{figure: {case: series.ratio(case, "alone", figure) for case in cases[1:]} for figure in FIGURES}}
    return found


def page(found):
    lines = []
    for figure, title in FIGURES.items():
        rows = [[what, *(with_range(of[figure].get(schedule)) for schedule in SCHEDULES)] for what, of in found.items()]
        lines += [*table([f"{title}, over alone", *SCHEDULES], rows), ""]
    return "\n".join(lines)


def picture(found, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(CODES), figsize=(15, 4.2), layout="constrained")
    bars = {}
    for axis, code in zip(axes, CODES):
        for number, schedule in enumerate(SCHEDULES):
            ratios = [found[f"{code}, {workload}"]["seconds"].get(schedule) for workload in WORKLOADS]
            places = [i + (number - 3) * 0.12 for i, ratio in enumerate(ratios) if ratio]
            drawn = axis.bar(places, [ratio["median"] for ratio in ratios if ratio], 0.11)
            bars |= {schedule: drawn} if places else {}
        axis.axhline(1, color="gray", linewidth=0.8)
        axis.set(title=code, xticks=range(len(WORKLOADS)))
        axis.set_xticklabels([workload.replace(" ", "\n") for workload in WORKLOADS])
    axes[0].set_ylabel("time over that of the simulation alone")
    axes[-1].legend(bars.values(), bars, loc="upper left", bbox_to_anchor=(1.01, 1))
    figure.savefig(path, dpi=110)


def cores_picture(folder, found, path):
    """md_tbb with the long analysis in pieces, a few steps from the middle of a run."""
    rounds = found["md_tbb, long parallel"]["rounds"]
    shown = {schedule: timeline.record(lambda more, schedule=schedule: run(folder, "md_tbb", schedule, rounds, 64, more), "md_tbb")
             for schedule in schedules_of("md_tbb")}
    timeline.picture(shown, CORES, path)


def main(folder=None, repetitions="5"):
    if folder:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="leat-bench-") as place:
        found = measure(pathlib.Path(place), int(repetitions))
        if folder:
            cores_picture(pathlib.Path(place), found, pathlib.Path(folder) / "cores.png")
    print(page(found))
    if folder:
        out = pathlib.Path(folder)
        (out / "schedules.md").write_text(page(found))
        (out / "schedules.json").write_text(json.dumps(found, indent=1))
        picture(found, out / "schedules.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
