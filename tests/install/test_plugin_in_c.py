# SPDX-License-Identifier: Apache-2.0
"""A plugin in plain C, by somebody who has leat/plugin.h and nothing else of Leat."""
import pathlib
import shutil

import pytest
from conftest import sh

HERE = pathlib.Path(__file__).parent
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]


@pytest.fixture()
def folder(installed, tmp_path):
    """A program, its XML with <store library="./mine.so"/>, and that plugin."""
    (tmp_path / "alone/leat").mkdir(parents=True)
    shutil.copy(installed / "include/leat/plugin.h", tmp_path / "alone/leat")
    sh("cc", *STRICT, "-shared", "-fPIC", "-Ialone", HERE / "plugin/sizes.c", "-o", "mine.so", cwd=tmp_path)
    lib = next(installed.glob("lib*/**/libleat.so")).parent
    sh("cc", *STRICT, HERE / "consumer/first.c", f"-I{installed}/include", f"-L{lib}", "-lleat", f"-Wl,-rpath,{lib}",
       "-o", "first", cwd=tmp_path)
    xml = (HERE / "consumer/first.xml").read_text()
    (tmp_path / "first.xml").write_text(xml.replace('type="hdf5"', 'library="./mine.so"'))
    return tmp_path


def test_it_gets_every_block(folder, environment):
    sh("./first", cwd=folder, environment=environment)
    assert (folder / "sizes.txt").read_text() == "wave 16000\n"
    assert not (folder / "first.h5").exists()


def test_its_failure_is_told_to_the_simulation(folder, environment):
    (folder / "sizes.txt").mkdir()
    with pytest.raises(AssertionError, match="out"):  # the name of the store
        sh("./first", cwd=folder, environment=environment)
