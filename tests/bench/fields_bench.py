# SPDX-License-Identifier: Apache-2.0
"""fields_bench.py BUILD: 3,500 fields in one file at the end of each day of a model, beside the same model without output, by turns; all
days that are stored are compared."""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import h5py

FIELDS, ELEMENTS, DAYS, ROUNDS = 3500, 4096, 3, 5
SECONDS = 4  # that a day computes


def xml():
    fields = "".join(f'<variable name="f{i:04}" layout="column"/>' for i in range(FIELDS))
    return f"""<simulation name="many"><architecture><dedicated cores="1"/><buffer size="512MiB" timeout="120s"/></architecture><data>
    <layout name="column" type="double" dimensions="{ELEMENTS}" global="{ELEMENTS}" names="x"/>{fields}</data>
    <storage><store name="out" type="hdf5"/></storage></simulation>"""


def run(program, rounds, off):
    environment = dict(os.environ, LEAT="off" if off else "on", LEAT_LOG="warn")
    done = subprocess.run(["taskset", "-c", "0", program, "many.xml", str(FIELDS), str(ELEMENTS), str(DAYS), str(rounds)],
                          capture_output=True, text=True, check=True, env=environment)
    return [float(word) for word in done.stdout.split()]


def check():
    with h5py.File("many.h5") as file:
        for field in (0, 1, FIELDS // 2, FIELDS - 1):
            assert file[f"f{field:04}"][:, 0].tolist() == [day * FIELDS + field for day in range(DAYS)], field


def main(build):
    program = str(pathlib.Path(build, "bin/leat_fields_bench").absolute())
    with tempfile.TemporaryDirectory(dir=build) as folder:
        os.chdir(folder)
        pathlib.Path("many.xml").write_text(xml())
        rounds = int(20000 * SECONDS * DAYS / run(program, 20000 * DAYS, True)[0])
        without, with_output, calls = [], [], []
        for _ in range(ROUNDS):
            without.append(run(program, rounds, True)[0])
            seconds, in_calls = run(program, rounds, False)
            with_output.append(seconds)
            calls.append(in_calls)
            check()
            pathlib.Path("many.h5").unlink()
    base = statistics.median(without)
    costs = sorted(100 * (each / base - 1) for each in with_output)
    size = FIELDS * ELEMENTS * 8 / 2**20
    print(f"\n{FIELDS} fields, {size:.0f} MiB a day of {base / DAYS:.1f} s, one rank and a core for the server:")
    print(f"  the run takes {statistics.median(costs):.1f} % longer ({costs[0]:.1f} to {costs[-1]:.1f}; goal 3); in calls of Leat "
          f"{100 * statistics.median(calls) / base:.1f} %, {1e6 * statistics.median(calls) / DAYS / FIELDS:.1f} us a field")


main(sys.argv[1])
