# SPDX-License-Identifier: Apache-2.0
"""Arrays that one of several ranks writes, without a global shape: what the file, leat ls and leat check say they are."""
import subprocess

import h5py
from leat_run import BUILD, Run, data, same_bits, xml

ARRAYS = ('<layout name="number" type="double" dimensions=""/><layout name="slice" type="double" dimensions="4,5" names="y,x"/>'
          '<layout name="of_run" type="double" dimensions="4,5" global="4,5" names="y,x"/>'
          '<variable name="energy" layout="number"/><variable name="cut" layout="slice"/><variable name="whole" layout="of_run"/>')


def leat(folder, *words):
    return subprocess.run([BUILD / "bin/leat", *words], cwd=folder, capture_output=True, text=True)


def test_what_one_rank_of_several_writes_has_the_shape_that_leat_ls_and_leat_check_say(tmp_path):
    with Run(tmp_path, xml(ARRAYS), ranks=2) as run:
        for rank in run.init():
            for number in range(3):
                for name, size in (("energy", 8), ("cut", 160), ("whole", 160)) if rank.number == 0 else ():
                    rank.must("write", name, 0, size, number)
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert [file[n].shape for n in ("energy", "cut", "whole")] == [(3,), (3, 4, 5), (3, 4, 5)]
        assert file["block_iteration"][:].tolist() == [0, 1, 2] and set(file["block_rank"][:].tolist()) == {0}
        assert all(same_bits(file["cut"][i], data(20, "f8", i).reshape(4, 5)) for i in range(3))
    shapes = {words[0]: words[2:] for line in leat(tmp_path, "ls", "run.h5").stdout.splitlines() if (words := line.split())}
    assert shapes["energy"][0] == "block=3" and shapes["cut"][:3] == ["block=3", "y=4", "x=5"] and shapes["whole"][:2] == ["y=4", "x=5"]
    said = leat(tmp_path, "check", "--ranks", "2", "run.xml").stderr
    for layout, example, shape in (("number", "energy", "block"), ("slice", "cut", "block, y, x")):
        assert f'note: layout "{layout}" has no global="...": with several ranks "{example}" is stored as ({shape})' in said, said
    assert '"whole"' not in said and "note" not in leat(tmp_path, "check", "--ranks", "1", "run.xml").stderr


def test_with_global_a_number_of_one_rank_has_a_row_for_each_iteration(tmp_path):
    """What the note of leat check says."""
    text = '<layout name="number" type="double" dimensions="1" global="1"/><variable name="energy" layout="number"/>'
    with Run(tmp_path, xml(text), ranks=2) as run:
        for rank in run.init():
            for number in range(3):
                if rank.number == 1:
                    rank.must("write", "energy", 0, 8, number)
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["energy"].shape == (3, 1) and [file["energy"][i, 0] for i in range(3)] == [data(1, "f8", i)[0] for i in range(3)]
