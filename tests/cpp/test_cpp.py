# SPDX-License-Identifier: Apache-2.0
"""leat.hpp, with and without exceptions: what h5py finds in the file."""
import os
import pathlib
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from leat_run import BUILD, same_bits
from stored_blocks import stored_blocks
from varying_sizes import STATUSES, XML, expect


@pytest.mark.parametrize("program", ["cpp_api_test", "cpp_api_test_nothrow"])
def test_what_cpp_writes_is_in_the_file(tmp_path, program):
    shutil.copy(pathlib.Path(__file__).parent / "cpp.xml", tmp_path)
    done = subprocess.run([BUILD / "bin" / program], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "r")})
    assert done.returncode == 0, done.stdout + done.stderr
    line = np.arange(1.0, 7.0)
    with h5py.File(tmp_path / "cpp.h5") as file:
        assert same_bits(file["line"][0], line) and same_bits(file["grid"][0], line.reshape(2, 3))
        assert same_bits(file["transposed"][0], line.reshape(2, 3).T)
        assert file["energy"][0] == 42.5 and file["ids"][:].tolist() == [7, 8, 9]
        assert file["z"][0].tolist() == [1 + 2j, 3 + 4j]
        assert same_bits(file["allocated"][0], np.arange(6.0).reshape(2, 3))
        assert [block[0] for block in stored_blocks(file, "blocks").values()] == [0, 1, 2, 3]
    said = (tmp_path / "cpp.trace.txt").read_text()
    assert "iteration 0 rank 0 block 3 rho (2, 3) 48 bytes level 2 at (4, -6)\n" in said, said
    assert "iteration 0 " in (tmp_path / "marked.txt").read_text() and not (tmp_path / "never.txt").read_text()


def test_after_a_session_that_did_not_open_the_end_says_what_is_not_stored(tmp_path):
    done = subprocess.run([BUILD / "bin" / "cpp_api_test_nothrow"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "r")})
    last = done.stderr.splitlines()[-1]
    assert last.startswith("leat: leat_finalize: nothing of this run is stored: leat_init had failed, and 409 writes"), done.stderr
    assert last.endswith("cpp.xml: error: cannot read the file: no such file")


@pytest.mark.parametrize("program", ["cpp_api_test", "cpp_api_test_nothrow"])
def test_without_a_server_cpp_computes_in_memory_of_its_own(tmp_path, program):
    done = subprocess.run([BUILD / "bin" / program], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LEAT": "off"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(tmp_path.iterdir())


def test_sizes_change_only_where_they_may(tmp_path):
    (tmp_path / "varying.xml").write_text(XML)
    done = subprocess.run([BUILD / "bin/cpp_varying"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "r")})
    assert done.returncode == 0 and [int(word) for word in done.stdout.split()] == STATUSES, done.stdout + done.stderr
    expect(tmp_path)
