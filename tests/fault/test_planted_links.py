# SPDX-License-Identifier: Apache-2.0
"""Another user who can write into the folder of a run puts links in the place of the files that it makes: nothing that they
lead to is touched, and the run goes on and says what it did."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import h5py
import pytest
from leat_run import BUILD, Run, data, same_bits

OTHER = 54321  # a user and a group of that number
XML = f"""<simulation name="run">
  <architecture><dedicated cores="1"/><buffer size="16MiB" timeout="10s"/></architecture>
  <log file="run.log"/>
  <data>
    <mesh name="m" type="uniform" spacing="1,1"/>
    <layout name="row" type="double" dimensions="4,2"/><variable name="a" layout="row" mesh="m"/>
  </data>
  <storage><store name="out" type="hdf5"/><store name="t" type="trace"/></storage>
  <scripts interpreter="{sys.executable}"><script file="analysis/s.py"/></scripts>
</simulation>
"""
SCRIPT = "def process(ds, ctx): ctx.scalar('sum', float(ds.a.sum()))\n"
# All that a run makes in its folder but its log, and the temporary files with which it does.
NAMES = [".run.ledger.json.part", ".run.ledger.json.lock", ".run.h5.lock", ".run.h5.journal", ".run.h5.part", ".run.h5.owner",
         "run.ledger.json", "run.h5", "run.trace.txt"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes another user")
PLANT = "import os, sys\nfor name in sys.argv[2:]:\n    os.path.lexists(name) and os.remove(name)\n    os.symlink(sys.argv[1], name)\n"


@contextlib.contextmanager
def shared_folder():
    """A folder that a group may write to; those above it are open to all."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-shared-"))
    try:
        os.chown(folder, 0, OTHER)
        folder.chmod(0o775)
        (folder / "victim").mkdir(mode=0o700)
        (folder / "victim/file").write_text("precious")
        (folder / "analysis").mkdir()
        (folder / "analysis/s.py").write_text(SCRIPT)
        yield folder
        assert os.listdir(folder / "victim") == ["file"] and (folder / "victim/file").read_text() == "precious"
    finally:
        shutil.rmtree(folder)


def plant(folder, names, target="victim/file"):
    subprocess.run([sys.executable, "-c", PLANT, folder / target, *names], cwd=folder, check=True, user=OTHER, group=OTHER,
                   extra_groups=[])


def iterate(rank, numbers):
    for number in numbers:
        assert rank.write("a", 64, number).ok
        rank.end()


def check_output(folder, count):
    with h5py.File(folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(count))
        assert all(same_bits(file["a"][i], data(8, "f8", i).reshape(4, 2)) for i in range(count))
    assert json.loads((folder / "run.ledger.json").read_text())["lost"] == 0
    assert len((folder / "run-scripts/s.csv").read_text().splitlines()) == count + 1


def test_links_that_are_there_before_the_run(tmp_path):
    with shared_folder() as folder:
        plant(folder, NAMES)
        plant(folder, ["run-scripts"], "victim")
        with Run(folder, XML) as run:
            (rank,) = run.init()
            iterate(rank, range(3))
            run.finish()
        check_output(folder, 3)
        log = (folder / "run.log").read_text()
        assert ".run.h5.lock was no file, but a link" in log and "run.1.h5" in log
        assert (folder / "run.1.h5").is_symlink() and not (folder / "run.trace.txt").is_symlink()


def test_links_that_come_while_it_runs(tmp_path):
    with shared_folder() as folder:
        with Run(folder, XML) as run:
            (rank,) = run.init()
            iterate(rank, range(2))
            while not (folder / "run.h5").exists():
                pass
            for number in range(2, 5):
                plant(folder, [name for name in NAMES if name not in ("run.trace.txt", ".run.h5.lock")])
                iterate(rank, [number])
            run.finish()
        name = "run.h5" if not (folder / "run.h5").is_symlink() else "run.1.h5"
        with h5py.File(folder / name) as file:
            assert file["iteration"][:].tolist() == list(range(5))


def test_a_log_that_is_a_link_of_another_user_is_refused_and_an_own_one_followed(tmp_path):
    with shared_folder() as folder:
        plant(folder, ["run.log"])
        with Run(folder, XML, name="refused") as run:
            answer = run.ranks[0].init()
            assert answer.status == "LEAT_ERROR_CONFIG" and "link of another user" in answer.error, answer
        (folder / "run.log").unlink()
        (folder / "run.log").symlink_to("own.txt")
        with Run(folder, XML) as run:
            (rank,) = run.init()
            iterate(rank, range(1))
            run.finish()
        assert "nothing lost" in (folder / "own.txt").read_text()


def test_a_journal_of_another_user_is_not_applied(tmp_path):
    """It could have anything written into the file."""
    with shared_folder() as folder:
        with Run(folder, XML) as run:
            (rank,) = run.init()
            iterate(rank, range(3))
            run.finish()
        before = (folder / "run.h5").read_bytes()
        make = "import pathlib; pathlib.Path('.run.h5.journal').write_bytes(bytes(1000))"
        subprocess.run([sys.executable, "-c", make], cwd=folder, check=True, user=OTHER, group=OTHER, extra_groups=[])
        done = subprocess.run([BUILD / "bin/leat", "recover", folder / "run.h5"], capture_output=True, text=True)
        assert "belongs to another user than the file" in done.stdout + done.stderr, done
        assert (folder / "run.h5").read_bytes() == before


def test_code_that_a_group_may_change_is_run_with_a_warning(tmp_path):
    with shared_folder() as folder:
        script = folder / "analysis/s.py"
        os.chown(script, 0, OTHER)
        script.chmod(0o664)
        with Run(folder, XML) as run:
            (rank,) = run.init()
            iterate(rank, range(2))
            run.finish()
        log = (folder / "run.log").read_text()
        warning = f"{script} may be changed by all members of the group {OTHER}, and is run with your rights: chmod g-w {script}"
        assert log.count(warning) == 1
        check = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=folder, capture_output=True, text=True)
        said = " ".join((check.stdout + check.stderr).split())
        assert "warning" in said and "chmod g-w" in said and check.returncode == 0, said
