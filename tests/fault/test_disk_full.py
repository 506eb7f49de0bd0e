# SPDX-License-Identifier: Apache-2.0
"""The disk of the hdf5 store is full in the middle of a run, and has room again later; whole runs, judged by h5py and the ledger.

The disk is a small tmpfs; a user who may not mount one gets it in a name space of their own, or, where that is not allowed
either, a limit for the sizes of leatd's files."""
import contextlib
import json
import os
import resource
import subprocess
import sys
import time

import h5py
import pytest
from leat_run import LIMIT, Run, data, xml

BYTES = 1 << 20
INSIDE = "LEAT_TEST_OWN_MOUNTS"


def may(*words):
    return subprocess.run(words, capture_output=True).returncode == 0


class SmallDisk:
    """A tmpfs."""

    def __init__(self, folder):
        self.filler = folder / "of-somebody-else"

    def fill(self, run):
        with open(self.filler, "wb") as file, contextlib.suppress(OSError):
            for size in (1 << 16, 1 << 12, 1):  # to the last byte
                with contextlib.suppress(OSError):
                    while True:
                        os.write(file.fileno(), bytes(size))

    def make_room(self, run):
        self.filler.unlink()


class LimitedFiles:
    """No file of leatd may become larger."""

    def __init__(self, folder):
        self.path = folder / "run.h5"

    def fill(self, run):
        resource.prlimit(run.server(), resource.RLIMIT_FSIZE, (self.path.stat().st_size, resource.RLIM_INFINITY))

    def make_room(self, run):
        resource.prlimit(run.server(), resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextlib.contextmanager
def disk_of(kind, folder):
    folder.mkdir()
    if kind == "mounted" and may("mount", "-t", "tmpfs", "-o", "size=12m,mode=0777", "tmpfs", folder):
        try:
            yield SmallDisk(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
    else:
        yield LimitedFiles(folder)


@pytest.fixture(autouse=True)
def own_mounts(request):
    """Who may not mount runs the test once more, where they may."""
    if "mounted" not in request.node.name or os.geteuid() == 0 or INSIDE in os.environ or not may("unshare", "-rm", "true"):
        return
    again = subprocess.run(["unshare", "-rm", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", request.node.nodeid],
                           cwd=request.config.rootpath, env={**os.environ, INSIDE: "1"}, capture_output=True, text=True)
    assert again.returncode == 0, again.stdout


def await_that(holds, what):
    until = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < until, what
        time.sleep(0.01)


def rows_in(path):
    # A reader in the midst of which a commit falls may have to try again.
    with contextlib.suppress(OSError, KeyError, RuntimeError), h5py.File(path) as file:
        return file["iteration"][:].tolist()
    return []


def lost_of(run):
    """{iteration: why} and the numbers stored, as the ledger says."""
    ledger = json.loads((run.folder / "run.ledger.json").read_text())
    numbers = {"stored": set(), "failed": {}}
    for entry in ledger["entries"]:
        first, last, step = entry["iterations"]
        for number in range(first, last + 1, step):
            if entry["fate"] == "stored":
                numbers["stored"].add(number)
            elif entry["fate"] == "failed":
                numbers["failed"][number] = entry["why"]
    return numbers, ledger


@pytest.mark.parametrize("room_again", [True, False], ids=["room again", "no room again"])
@pytest.mark.parametrize("options", ['', 'compression="deflate:1"', 'compression="zfp:accuracy=1e-3"', 'durability="iteration"'])
@pytest.mark.parametrize("kind", ["mounted", "limited"])
def test_what_does_not_fit_is_in_the_ledger_the_run_goes_on_and_what_fits_later_is_stored(tmp_path, kind, options, room_again):
    folder = tmp_path / "disk"
    # zfp leaves chunks with NaNs as they are, and the bits of leat_rank are anything: so this is bit for bit, too.
    data_xml = (f'<layout name="big" type="{"float" if "zfp" in options else "uint8"}" '
                f'dimensions="{BYTES // 4 if "zfp" in options else BYTES}"/><variable name="big" layout="big"/>')
    store = f'<store name="out" type="hdf5" folder="{folder}" {options}/>'
    with disk_of(kind, folder) as disk:
        with Run(tmp_path, xml(data_xml, buffer="32MiB", store=store)) as run:
            (rank,) = run.init()

            def iterate(number):
                assert rank.write("big", BYTES, number).ok
                rank.end()

            for number in range(3):
                iterate(number)
            await_that(lambda: rows_in(folder / "run.h5") == [0, 1, 2], run.log())
            disk.fill(run)
            for number in range(3, 6):
                iterate(number)
                await_that(lambda: f"iteration {number}: no room on the disk" in run.log(), run.log())
                await_that(lambda: rows_in(folder / "run.h5") == [0, 1, 2], "the file cannot be read")
            if room_again:
                disk.make_room(run)
                for number in range(6, 8):
                    iterate(number)
            (answer,) = run.finalize()
            assert answer.status == "LEAT_ERROR_LOST" and "run.ledger.json" in answer.error
        stored = [0, 1, 2] + ([6, 7] if room_again else [])
        with h5py.File(folder / "run.h5") as file:
            assert file["iteration"][:].tolist() == stored and file["leat/iteration_complete"][:].all()
            for row, number in enumerate(stored):
                assert file["big"][row].tobytes() == data(BYTES, "u1", number).tobytes(), number
            if room_again:
                assert file.attrs["lost"] == 3
    numbers, ledger = lost_of(run)
    assert numbers["stored"] == set(stored) and set(numbers["failed"]) == {3, 4, 5} and ledger["lost"] == 3
    assert all("no room on the disk" in why for why in numbers["failed"].values())
