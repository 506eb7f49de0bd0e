# SPDX-License-Identifier: Apache-2.0
"""Programs that call Damaris run on Leat, and what they write is what h5py reads."""
import subprocess

import h5py
import numpy as np
import pytest
from damaris_run import check_fields, copy_xml, run
from leat_run import BUILD, same_bits

STEPS = 4


@pytest.mark.parametrize("program", ["damaris_fields", "damaris_fields_f"])
@pytest.mark.parametrize("clients, cores", [(1, 0), (3, 0), (1, 1), (3, 1), (2, 2)])
def test_what_a_program_writes_is_stored(tmp_path, program, clients, cores):
    """By a server beside the ranks, and by the ranks that <dedicated cores> takes: as many more are started then."""
    copy_xml(tmp_path, "fields.xml", ('cores="0"', f'cores="{cores}"'))
    done = run(tmp_path, program, "fields.xml", STEPS, ranks=clients + cores)
    assert done.returncode == 0, done.stdout + done.stderr
    check_fields(tmp_path, clients, STEPS)


def test_the_place_of_the_environment_comes_before_the_xml(tmp_path):
    copy_xml(tmp_path, "fields.xml", ('cores="0"', 'cores="1"'))
    done = run(tmp_path, "damaris_fields", "fields.xml", STEPS, ranks=2, variables={"LEAT_PLACE": "process"})
    assert done.returncode == 0, done.stdout + done.stderr
    check_fields(tmp_path, 2, STEPS)


@pytest.mark.parametrize("cores", [0, 1])
def test_servers_are_stopped_and_started_again(tmp_path, cores):
    copy_xml(tmp_path, "bad.xml", ('cores="0"', f'cores="{cores}"'))
    done = run(tmp_path, "damaris_again", "bad.xml", ranks=2 + cores)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.split()) == ["client"] * 4 + ["server"] * 2 * cores
    found = set()
    for path in tmp_path.rglob("*.h5"):
        with h5py.File(path) as file:
            file["u"].visititems(lambda _, part: found.add(float(part[0])) if isinstance(part, h5py.Dataset) else None)
    assert found == {0., 1., 2., 3.}, "nothing of either start is lost, and iterations count on"


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


def convert(folder, name):
    own = subprocess.run([BUILD / "bin/leat", "convert", name], cwd=folder, capture_output=True, check=True)
    assert b'varying="true"' in own.stdout
    (folder / name).write_bytes(own.stdout)


@pytest.mark.parametrize("converted", [False, True])
@pytest.mark.parametrize("ranks", [1, 2])
def test_sizes_are_set_anew_in_each_iteration(tmp_path, ranks, converted):
    """With the XML for Damaris, and with what `leat convert` makes of it."""
    copy_xml(tmp_path, "shrinking.xml")
    if converted:
        convert(tmp_path, "shrinking.xml")
    done = run(tmp_path, "damaris_shrinking", "shrinking.xml", ranks=ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    for step, size in enumerate([12, 6, 24, 2, 12]):
        with h5py.File(tmp_path / f"shrinking_It{step}_Pr0.h5") as file:
            for name in ("bar", "loose"):
                found = np.concatenate([file[f"{name}/P{rank}"][...].ravel() for rank in range(ranks)])
                assert same_bits(found, 100. * step + np.arange(size)), name


def everything_in(folder):
    """{file and path: array}"""
    found = {}
    for path in sorted(folder.glob("*.h5")):
        with h5py.File(path) as file:
            file.visititems(lambda name, part: found.update({f"{path.name}/{name}": part[...]}) if isinstance(part, h5py.Dataset) else None)
    return found


@pytest.mark.parametrize("mode", ["FilePerCore", "Collective"])
def test_sizes_are_set_anew_between_two_writes(tmp_path, mode):
    """As `vector` of Damaris and OPM Flow do. The XML for Damaris and the converted one give the same values in the same places."""
    ranks, found = 2, []
    for converted in (False, True):
        folder = tmp_path / str(converted)
        folder.mkdir()
        copy_xml(folder, "sizes.xml", ("FilePerCore", mode))
        if converted:
            convert(folder, "sizes.xml")
        done = run(folder, "damaris_sizes", "sizes.xml", ranks=ranks)
        assert done.returncode == 0, done.stdout + done.stderr
        found.append(everything_in(folder))
    assert sorted(found[0]) == sorted(found[1]) and all(same_bits(found[0][name], found[1][name]) for name in found[0])
    for cycle in range(4):
        stored = {name.partition("/")[2]: array for name, array in found[1].items() if name.startswith(f"sizes_It{cycle}")}
        cells = [5 + rank + 7 * (cycle % 2) for rank in range(ranks)]
        bar = np.arange(96 // 2**cycle, dtype="f4") + np.float32(1000 * cycle)
        pressure = 1000. * cycle + np.arange(sum(cells))
        if mode == "Collective":
            assert same_bits(stored["bar"], bar) and same_bits(stored["PRESSURE"], pressure)
        for rank, count in enumerate(cells):
            first = sum(cells[:rank])
            expected = {"types": 100 * rank + np.arange(count), "offsets": 10000 * cycle + 8 * np.arange(count + 1)}
            for name, values in expected.items():
                assert same_bits(stored[f"{name}/P{rank}/B0"], values.astype("i4")), (cycle, rank, name)
            if mode == "FilePerCore":
                assert same_bits(stored[f"PRESSURE/P{rank}/B0"], pressure[first:first + count])
                for block, part in enumerate(np.split(np.split(bar, ranks)[rank], 2)):
                    assert same_bits(stored[f"bar/P{rank}/B{block}"], part)


def test_an_event_of_the_xml_is_signalled(tmp_path):
    (tmp_path / "libnotes.so").symlink_to(BUILD / "lib/leat/test/function.so")
    event = '<actions><event name="snapshot" action="note" library="libnotes.so"/></actions>\n  <log FileName'
    copy_xml(tmp_path, "bad.xml", ("<log FileName", event))
    done = run(tmp_path, "damaris_before", "bad.xml", "wrong")
    assert "signal_unknown 0\n" in done.stdout, "it is known here"
    assert (tmp_path / "noted.txt").read_text() == "snapshot 0 0\n"
