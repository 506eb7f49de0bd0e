# SPDX-License-Identifier: Apache-2.0
"""examples/statistics_plugin, built alone against the installed tree as docs/how-to/analyse-in-c++.md says: its numbers are
those of NumPy and of its twin in Python, examples/analysis/statistics.py, on what the hdf5 store beside it has written."""
import csv
import os
import pathlib
import re
import shutil
import sys

import h5py
import numpy as np
import pytest
from conftest import sh

HERE = pathlib.Path(__file__).parent
sys.path += [str(HERE.parent / folder) for folder in ("integration", "plugins", "scripts")]
from leat_plugin import TYPES, Plugin, array, variable  # noqa: E402
from mpi_run import mpirun  # noqa: E402
from shipped import EXAMPLES, Context, load  # noqa: E402
from stored_blocks import counts_of_rows  # noqa: E402

DECK = "/usr/share/lammps/examples/crack/in.crack"
PAGE = (HERE.parents[1] / "docs/how-to/analyse-in-c++.md").read_text()
BUILD_IT, READ_IT, READ_PRODUCTS = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
STORE, _ = re.findall(r"```xml\n(.*?)```", PAGE, re.S)  # the other one is in tests/analytics


@pytest.fixture(scope="module")
def plugin(installed, tmp_path_factory):
    """The folder in which the plugin was built."""
    folder = tmp_path_factory.mktemp("statistics")
    shutil.copytree(EXAMPLES / "statistics_plugin", folder / "statistics_plugin")
    (folder / "leat").symlink_to(installed)
    sh("bash", "-euc", BUILD_IT, cwd=folder,
       environment={"PREFIX": str(folder / "leat"), "CXXFLAGS": "-Wall -Wextra -Werror -pedantic"})
    return folder


def with_plugin(xml, plugin, folder):
    """The XML of an example, with the plugin as a store beside its own, which then stores every iteration."""
    shutil.copytree(plugin / "stats", folder / "stats")
    text = xml.read_text().replace(' every="10"', "")
    (folder / xml.name).write_text(text.replace("</storage>", f"{STORE}</storage>"))


def table(path):
    """{iteration: {column: number}} of the CSV file."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return {int(row.pop("iteration")): {name: float(text) for name, text in row.items() if text} for row in rows}


def expect_twin(rows, iterations):
    """Each row has the columns of statistics.py, in its order, and its numbers."""
    statistics, ctx = load("analysis/statistics.py"), Context()
    assert list(rows) == [i for i, _ in iterations]
    for iteration, data in iterations:
        ctx.next(iteration)
        statistics.process(data, ctx)
        assert list(rows[iteration]) == list(ctx.scalars)
        for name, value in ctx.scalars.items():
            assert rows[iteration][name] == pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True), (iteration, name)


def test_a_field_with_ghost_cells(plugin, tmp_path):
    with_plugin(EXAMPLES / "heat_c/heat.xml", plugin, tmp_path)
    mpirun(2, "heat", "heat.xml", 11, cwd=tmp_path)
    with h5py.File(tmp_path / "heat.h5") as file:
        fields = file["temperature"][:]
    rows = table(tmp_path / "stats.csv")
    assert sh("bash", "-euc", READ_IT, cwd=tmp_path).splitlines()[0] == "0 400"
    expect_twin(rows, [(i, {"temperature": T}) for i, T in enumerate(fields)])
    with_h5py = {"PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}  # the python3 of these tests
    assert sh("bash", "-euc", READ_PRODUCTS, cwd=tmp_path, environment=with_h5py).startswith("[400.")
    with h5py.File(tmp_path / "heat.h5") as file:
        published = file["products/stats"]
        assert published["iteration"][:].tolist() == list(rows)
        for name in rows[0]:
            assert published[name][:].tolist() == [row[name] for row in rows.values()], name
    for i, T in rows.items():
        assert T["temperature_max"] == fields[i].max()
        assert T["temperature_p95"] == pytest.approx(np.percentile(fields[i], 95), rel=1e-12)
        assert T["temperature_run_mean"] == pytest.approx(fields[:i + 1].mean(), rel=1e-12)


def test_particles_that_move_from_rank_to_rank(plugin, tmp_path):
    with_plugin(EXAMPLES / "lammps/crack.xml", plugin, tmp_path)
    (tmp_path / "analysis").mkdir()  # without scripts
    mpirun(2, "leat_lammps", "--every", 50, "--steps", 200, "crack.xml", DECK, cwd=tmp_path)
    with h5py.File(tmp_path / "crack.h5") as file:
        parts = np.split(np.arange(len(file["id"])), np.cumsum(counts_of_rows(file, "x").sum(axis=1))[:-1])
        arrays = {name: file[name][:] for name in ("x", "v", "id", "type")}
    iterations = [(i, {name: array[part] for name, array in arrays.items()}) for i, part in enumerate(parts)]
    rows = table(tmp_path / "stats.csv")
    expect_twin(rows, iterations)
    assert len(rows) == 5 and rows[4]["id_run_max"] == len(iterations[0][1]["id"])


def drive(plugin, folder, variables, **more):
    folder.mkdir(exist_ok=True)
    return Plugin(folder, variables, plugin=plugin / "stats/libstatistics", options={"file": "stats.csv"}, **more)


@pytest.mark.parametrize("dtype", [t for t in TYPES if t not in ("c8", "c16", "S1", "f8")])  # f8: see the runs above
def test_every_numeric_type_with_values_that_are_not_finite(plugin, tmp_path, dtype):
    driven = drive(plugin, tmp_path, [variable("a", dtype, [("y", 1, 0), ("x", 0, 2)], **{"global": 1})])
    iterations = []
    for i in range(3):
        at = [{"position": [9 * rank, 0], "global": (18, 50)} for rank in range(2)]
        driven.must(i, *[driven.block(0, (10, 52), 2 * i + rank, rank=rank, **at[rank]) for rank in range(2)])
        parts = [array((10, 52), dtype, 2 * i + rank)[1:, :-2] for rank in range(2)]
        iterations.append((i, {"a": np.concatenate(parts)}))
    driven.finish()
    rows = table(tmp_path / "stats.csv")
    expect_twin(rows, iterations)
    assert (rows[0]["a_not_finite"] > 0) == (dtype == "f4")


def test_a_variable_that_is_empty_or_not_written_and_one_without_dimensions(plugin, tmp_path):
    variables = [variable("m", "i4", ["?atom"]), variable("text", "S1", ["n"]), variable("z", "c8", ["n"]),
                 variable("fields/s", "i2", [])]
    driven = drive(plugin, tmp_path, variables)
    driven.must(0, driven.block(0, (0,), 1), driven.block(1, (3,), 1), driven.block(2, (3,), 1))
    driven.must(7, driven.block(0, (2,), 2), driven.block(0, (3,), 3, rank=1), driven.block(3, (), 4))
    driven.finish()
    m = np.concatenate([array((2,), "i4", 2), array((3,), "i4", 3)])
    rows = table(tmp_path / "stats.csv")
    expect_twin(rows, [(0, {"m": np.zeros(0, "i4")}), (7, {"m": m, "fields/s": array((), "i2", 4)})])
    assert {name.split("_")[0] for row in rows.values() for name in row} == {"m", "fields/s"}


@pytest.mark.parametrize("half", ["", "3,0.2"])
def test_when_leatd_died_its_file_goes_on_as_if_it_had_not(plugin, tmp_path, half):
    def write(folder, iterations, **more):
        driven = drive(plugin, folder, [variable("a", "f4", ["x"]), variable("text", "S1", ["n"]), variable("m", "i4", ["?n"])], **more)
        for i in iterations:
            m = [driven.block(2, (i,), i)] if i % 3 != 2 else []
            driven.must(i, driven.block(0, (50,), i), driven.block(1, (3,), i), *m)
        return driven

    write(tmp_path / "whole", range(8)).finish()
    write(tmp_path / "killed", range(3)).kill()
    with open(tmp_path / "killed/stats.csv", "a") as file:
        file.write(half)
    write(tmp_path / "killed", range(1, 8), resumed=1).finish()
    assert (tmp_path / "killed/stats.csv").read_text() == (tmp_path / "whole/stats.csv").read_text()


def test_a_file_that_cannot_be_written_is_told_to_the_simulation(plugin, tmp_path):
    with_plugin(EXAMPLES / "heat_c/heat.xml", plugin, tmp_path)
    (tmp_path / "stats.csv").mkdir()
    with pytest.raises(AssertionError, match="cannot write .*stats.csv"):
        mpirun(2, "heat", "heat.xml", 3, cwd=tmp_path)




def test_the_page_shows_lines_of_the_example():
    shown, pieces = re.findall(r"```cpp\n(.*?)```", PAGE, re.S)
    source = (HERE.parents[1] / "server/plugins/analytics/statistics.cpp").read_text()
    assert [line for line in pieces.splitlines() if line.partition(";")[0].strip() + " {" not in source] == []
    assert shown in (EXAMPLES / "statistics_plugin/statistics.cpp").read_text()
