# SPDX-License-Identifier: Apache-2.0
"""Programs that call Damaris run on Leat, and what they write is what h5py reads."""
import h5py
import numpy as np
import pytest
from damaris_run import check_fields, copy_xml, run
from leat_run import same_bits

STEPS = 4


@pytest.mark.parametrize("program", ["damaris_fields", "damaris_fields_f"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_what_a_program_writes_is_stored(tmp_path, program, ranks):
    copy_xml(tmp_path, "fields.xml")
    done = run(tmp_path, program, "fields.xml", STEPS, ranks=ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    check_fields(tmp_path, ranks, STEPS)


def test_what_is_done_otherwise_is_said_once(tmp_path):
    copy_xml(tmp_path, "fields.xml")
    said = run(tmp_path, "damaris_fields", "fields.xml", STEPS).stderr
    assert said.count("damaris_bind: the function is called by the rank that signals") == 1
    assert said.count('no parameter "WIDHT"') == 1 and 'did you mean "WIDTH"' in said


def test_switched_off_it_computes_and_stores_nothing(tmp_path):
    copy_xml(tmp_path, "fields.xml")
    before = sorted(tmp_path.iterdir())
    done = run(tmp_path, "damaris_fields_f", "fields.xml", 1, variables={"LEAT": "off"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert [p for p in sorted(tmp_path.iterdir()) if p.name != "r"] == before


@pytest.mark.parametrize("ranks", [1, 2])
def test_sizes_are_set_anew_in_each_iteration(tmp_path, ranks):
    copy_xml(tmp_path, "shrinking.xml")
    done = run(tmp_path, "damaris_shrinking", "shrinking.xml", ranks=ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    for step, size in enumerate([12, 6, 24, 2, 12]):
        with h5py.File(tmp_path / f"shrinking_It{step}_Pr0.h5") as file:
            for name in ("bar", "loose"):
                found = np.concatenate([file[f"{name}/P{rank}"][...].ravel() for rank in range(ranks)])
                assert same_bits(found, 100. * step + np.arange(size)), name
