# SPDX-License-Identifier: Apache-2.0
"""Programs in C++ that call Damaris as OPM Flow and PDI do, and what they write is what h5py reads."""
import os
import pathlib

import h5py
import numpy as np
import pytest
from damaris_run import run
from leat_run import same_bits

CELLS, STEPS = 30, 3


def flow(folder, ranks, mode, store_of_mesh="#"):
    (folder / "out").mkdir()
    done = run(folder, "damaris_flow", "out", mode, store_of_mesh, ranks=ranks + 1)
    assert done.returncode == 0 and "leat: " not in done.stderr, done.stdout + done.stderr
    return [h5py.File(folder / "out" / f"flow_It{step}{'' if mode == 'Collective' else '_Pr0'}.h5") for step in range(STEPS)]


def cells_of(rank, ranks):
    return np.arange(rank, CELLS, ranks, dtype="i4")[::-1].copy()


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_fields_of_flow_are_in_the_order_of_the_cells(tmp_path, ranks):
    """In one array of all ranks, whatever order each has them in; the index is written in the first iteration only."""
    for step, file in enumerate(flow(tmp_path, ranks, "Collective")):
        with file:
            assert file.attrs["iteration_complete"] == 1
            assert same_bits(file["PRESSURE"][...], 1000. * step + np.arange(CELLS)) and file["PRESSURE"].attrs["units"] == b"Pa"
            assert same_bits(file["SWAT"][...], np.arange(CELLS) / 8 - step)
            assert ("GLOBAL_CELL_INDEX" in file) == (step == 0) and "MPI_RANK" not in file and "OUTPUTDIR" not in file
            if step == 0:
                assert same_bits(file["GLOBAL_CELL_INDEX"][...], np.concatenate([cells_of(rank, ranks) for rank in range(ranks)]))
    log = (tmp_path / "out/damaris_log/flow.log").read_text()
    assert "nothing lost" in log and "holes" not in log and "error" not in log, log


def test_fields_with_an_index_need_no_position(tmp_path):
    """Where all blocks lie at 0 they do not lie on each other: only the index itself does, which has none."""
    (tmp_path / "out").mkdir()
    done = run(tmp_path, "damaris_flow", "out", "Collective", "#", ranks=3, variables={"FLOW_WITHOUT_POSITIONS": "1"})
    assert done.returncode == 0, done.stderr
    for step in range(STEPS):
        with h5py.File(tmp_path / f"out/flow_It{step}.h5") as file:
            assert same_bits(file["PRESSURE"][...], 1000. * step + np.arange(CELLS))
    log = (tmp_path / "out/damaris_log/flow.log").read_text()
    assert "holes" not in log and "PRESSURE" not in log and "SWAT" not in log, log


@pytest.mark.parametrize("ranks", [1, 3])
def test_with_its_mesh_each_rank_has_its_part_and_the_cells_beside_it(tmp_path, ranks):
    """Memory that was asked for before a parameter changed has the size of then."""
    first, *later = flow(tmp_path, ranks, "FilePerCore", "MyStore")
    with first:
        for rank in range(ranks):
            cells, local = cells_of(rank, ranks), len(cells_of(rank, ranks))
            assert same_bits(first[f"GLOBAL_CELL_INDEX/P{rank}"][...], cells)
            assert same_bits(first[f"PRESSURE/P{rank}"][...], cells.astype("f8"))
            assert same_bits(first[f"MPI_RANK/P{rank}"][...], np.full(local, rank, "i4"))
            vertex, corner = np.arange(4 * (local + 1)), np.arange(8 * local)
            for name, expected in {"x": 100 * rank + vertex // 4, "y": vertex % 2, "z": vertex // 2 % 2}.items():
                assert same_bits(first[f"coordset/coords/values/{name}/P{rank}"][...], expected.astype("f8"))
            elements = first["topologies/topo/elements"]
            assert same_bits(elements[f"connectivity/P{rank}"][...], (4 * (corner // 8) + corner % 8).astype("i4"))
            assert same_bits(elements[f"offsets/P{rank}"][...], (8 * np.arange(local + 1)).astype("i4"))
            assert same_bits(elements[f"types/P{rank}"][...], np.full(local, 12, "u1"))
    for file in later:
        with file:
            assert sorted(file) == ["PRESSURE", "SWAT"]
    assert "holes" not in (tmp_path / "out/damaris_log/flow.log").read_text()


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("how", ["TEXT", "FILE"])
def test_an_xml_that_a_program_puts_together_is_given_as_text_or_as_a_file(tmp_path, how, ranks):
    done = run(tmp_path, "damaris_headers", how, ranks=ranks)
    assert done.returncode == 0 and "leat: " not in done.stderr, done.stderr
    with h5py.File(tmp_path / "made_It0_Pr0.h5") as file:
        assert sorted(file["outer/inner/u"]) == [f"P{rank}" for rank in range(ranks)]
        for rank in range(ranks):
            assert same_bits(file[f"outer/inner/u/P{rank}"][...], np.arange(0, 50, 10))
            assert file[f"outer/inner/u/P{rank}"].attrs["units"] == b"K"
    assert [name for name in os.listdir(tmp_path) if name.startswith("damaris-")] == []


def test_a_text_with_errors_stays_for_the_lines_that_they_name(tmp_path):
    done = run(tmp_path, "damaris_headers", "BAD")
    (name,) = [name for name in os.listdir(tmp_path) if name.startswith("damaris-")]
    assert done.returncode == 3 and f"{name}:1:37: error: unknown element <dota>" in done.stderr, done.stderr
    assert (tmp_path / name).read_text().endswith("<dota/></simulation>")


def test_a_text_needs_a_folder_to_be_put_into():
    done = run(pathlib.Path("/proc"), "damaris_headers", "TEXT")  # root cannot write there either
    assert done.returncode != 0 and "start the program in a folder that it may write to" in done.stderr


WRONG = '''rank 7: DamarisVar "outer/inner/u": its values are "long" in the XML and "int" in the program
rank 7: DamarisVar "outer/inner/v": damaris_get_type: there is no variable of this name in the XML
rank 7: DamarisVar "outer/inner/u": it has 2 dimensions and the names of 1 parameters
rank 7: DamarisVar "outer/inner/u": damaris_parameter_set("m"): there is no parameter of this name in the XML, or it has no value
rank 7: DamarisVar "outer/inner/u": it has 1 parameters, and got 2 values
rank 7: DamarisVar "outer/inner/u": call SetDamarisParameter first: it says how much memory is needed
rank 7: DamarisVar "outer/inner/u": it has 1 dimensions, and its position 2
1 1
1100
there is no variable of this name in the XML; no code of Damaris
"$&[_A_]" X_A_ $&[_A_]B . $1_C_
0 0
'''


def test_what_is_wrong_is_an_exception_that_says_what(tmp_path):
    done = run(tmp_path, "damaris_headers", "WRONG")
    assert done.returncode == 0 and done.stdout == WRONG, done.stdout + done.stderr
    assert 'no variable "outer/inner/v"; did you mean "outer/inner/u"?' in done.stderr
    assert "ModifyModel: cannot write no/such/folder.xml: No such file" in done.stderr
    assert "ModifyModel: cannot read none.xml: No such file" in done.stderr
