# SPDX-License-Identifier: Apache-2.0
"""`leat ls` of files, judged by h5py."""
import fcntl
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading
import time

import h5py
import numpy as np
import pytest
import terminal
from leat_plugin import Plugin, variable
from leat_run import BUILD

VARIABLES = [variable("temperature", "f8", ["y", "x"], unit="K", description="of the plate, at the centres of its cells"),
             variable("r", "f8", ["?n"]), variable("s", "i4", []),
             variable("fields/velocity", "f4", ["y", "x"], **{"global": 1}), variable("area", "f8", ["x"], time_varying=0)]
ITERATIONS = 5


def ls(*arguments, cwd, code=0, **environment):
    done = subprocess.run([BUILD / "bin/leat", "ls", *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(cwd / "runtime"), **environment})
    assert done.returncode == code, done
    return done


def ls_json(*arguments, cwd, code=0):
    return json.loads(ls(*arguments, "--json", cwd=cwd, code=code).stdout)


def blocks(plugin, i):
    some = [plugin.block(0, (30, 40), i), plugin.block(1, (7 * i % 5,), i),
            plugin.block(3, (30, 40), i, position=[0, 0], **{"global": [30, 40]})]
    return some + ([plugin.block(2, (), i)] if i % 2 == 0 else [])


def write(folder, iterations=ITERATIONS, variables=VARIABLES, **more):
    folder.mkdir(exist_ok=True)
    plugin = Plugin(folder, variables, options={"compression": "deflate:4"}, simulation="plate", **more)
    assert not plugin.opened
    for i in range(iterations):
        plugin.must(10 * i, *blocks(plugin, i), complete=int(i != 3), parameters={"n": i, "dt": 0.25, "s": f"step {i}"})
    plugin.results("hottest", 10, plugin.result("heat", "f8", [], [], 3, unit="J"))
    return plugin


LEDGER = json.dumps({"leat_ledger": 1, "session": "s", "state": "closing", "status": "LEAT_ERROR_LOST", "lost": 2, "dropped": 0,
                     "dropped_iterations": 1, "in_progress": 0, "stores": [{"name": "out"}], "died": [
                         {"rank": 1, "iteration": 30}], "entries": [
    {"variable": "r", "fate": "stored", "store": "out", "iterations": [0, 40, 10], "ranks": [[0, 0]], "blocks": 5, "bytes": 1},
    {"variable": "r", "fate": "failed", "store": "out", "iterations": [10, 20, 10], "ranks": [[0, 3], [5, 5]], "blocks": 2,
     "bytes": 1, "why": "the moon was full"}]}, indent=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ls")
    write(folder, ledger=LEDGER).finish()
    return folder


def numpy_name(dtype):
    return "complex" if dtype.kind == "c" else "text" if dtype.kind == "S" else dtype.name


def test_what_is_said_of_each_variable_is_what_h5py_says(folder):
    facts = ls_json("plate.h5", cwd=folder)
    with h5py.File(folder / "plate.h5") as file:
        marked = []
        file.visititems(lambda name, o: marked.append(name) if "leat_layout" in o.attrs else None)
        assert sorted(v["name"] for v in facts["variables"]) == sorted(marked) and len(marked) == 4
        for each in facts["variables"] + facts["scripts"][0]["results"]:
            dataset = file.get(each["name"]) or file[f"scripts/hottest/{each['name']}"]
            assert each["shape"] == list(dataset.shape) and each["type"] == numpy_name(dataset.dtype)
            assert each["bytes"] == dataset.nbytes and each["stored_bytes"] == dataset.id.get_storage_size()
            assert each["chunk"] == list(dataset.chunks)
            assert each["unit"] == dataset.attrs.get("units", b"").decode()
            assert each["parts"] == []
            assert ("deflate:4" in each["filters"]) == (dataset.compression == "gzip")
            assert each["dimensions"] == [d.label or d[0].name.lstrip("/") for d in dataset.dims]
    assert facts["bytes"] == (folder / "plate.h5").stat().st_size


def test_iterations_parameters_and_results(folder):
    facts = ls_json("plate.h5", cwd=folder)
    assert facts["iterations"] == {"count": 5, "first": 0, "last": 40, "step": 10, "incomplete_count": 1, "incomplete": [30]}
    assert {v["name"]: v["iterations"] for v in facts["variables"]} == {"temperature": 5, "r": 5, "s": 3, "fields/velocity": 5}
    assert {p["name"]: p["last"] for p in facts["parameters"]} == {"n": 4, "dt": 0.25, "s": "step 4"}
    (script,) = facts["scripts"]
    with h5py.File(folder / "plate.h5") as file:
        assert script["results"][0]["last"] == file["scripts/hottest/heat"][0] or np.isnan(file["scripts/hottest/heat"][0])
    assert (facts["state"], facts["simulation"], facts["made_by_leat"], facts["others"]) == ("closed", "plate", True, [])


def test_the_ledger_is_that_of_the_file(folder):
    ledger = ls_json("plate.h5", cwd=folder)["ledger"]
    assert ledger["lost"] == 2 and [e["fate"] for e in ledger["missing"]] == ["failed"]
    screen = ls("plate.h5", cwd=folder).stdout
    assert "2 writes lost; 1 iteration dropped, as the XML allows; rank 1 died in iteration 30" in screen
    assert re.search(r"r +failed in out +10 to 20 in steps of 10 +0-3,5 +the moon was full", screen)


def test_the_keys_of_the_json_are_those_of_the_reference(folder):
    page = pathlib.Path(__file__).parents[2] / "docs/reference/leat-ls.md"
    documented = set(re.findall(r"`(\w+)`", page.read_text()))
    facts = ls_json("plate.h5", cwd=folder)
    whole = ls_json(cwd=folder)
    keys = {*facts, *facts["variables"][0], *facts["iterations"], *facts["ledger"], *facts["scripts"][0],
            *facts["parameters"][0], *whole, *whole["files"][0]}
    assert keys <= documented, keys - documented
    assert facts["leat_ls"] == 1 and whole["kind"] == "folder"


def test_a_folder_has_a_line_for_each_file(folder, tmp_path):
    shutil.copy(folder / "plate.h5", tmp_path)
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["x"] = np.arange(3)
    (tmp_path / "damaged.h5").write_bytes((folder / "plate.h5").read_bytes()[:5000])
    whole = ls_json(cwd=tmp_path)
    assert [f["file"] for f in whole["files"]] == ["damaged.h5", "plate.h5"] and whole["other_files"] == 1
    assert whole["files"][0]["problem"] and whole["files"][1]["variable_count"] == 4
    screen = ls(tmp_path, cwd=folder).stdout
    assert re.search(r"plate\.h5 +0\.\.40 +4 .* 2  closed", screen) and "and 1 file that Leat has not made" in screen
    assert "no output files of Leat" in ls(tmp_path.parent, cwd=folder).stdout


def test_a_file_of_somebody_else_shows_its_datasets(tmp_path):
    with h5py.File(tmp_path / "theirs.h5", "w") as file:
        file["group/x"] = np.arange(6, dtype="u2").reshape(2, 3)
        file["group/again"] = file["group"]
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((10,))
        plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))
        plist.set_filter(32099, h5py.h5z.FLAG_OPTIONAL, ())
        h5py.h5d.create(file.id, b"z", h5py.h5t.NATIVE_FLOAT, h5py.h5s.create_simple((10,)), plist)
    facts = ls_json("theirs.h5", cwd=tmp_path)
    assert [(d["name"], d["type"], d["shape"]) for d in facts["others"]] == [("group/x", "uint16", [2, 3]), ("z", "float32", [10])]
    assert facts["others"][1]["filters"][0] == "zstd:3" and not facts["made_by_leat"]
    assert "Leat has not made it" in ls("theirs.h5", cwd=tmp_path).stdout


def test_a_view_says_of_how_many_parts_it_is_and_vtk_has_a_line(folder, tmp_path):
    shutil.copy(folder / "plate.h5", tmp_path / "part-0.h5")
    with h5py.File(tmp_path / "view.h5", "w") as view:
        view.attrs["leat_version"] = "0.1.0"
        layout = h5py.VirtualLayout((5, 60, 40), "f4")
        for n in range(2):
            layout[:, 30 * n:30 * (n + 1)] = h5py.VirtualSource(f"part-{n}.h5", "fields/velocity", (5, 30, 40))
        view.create_virtual_dataset("velocity", layout).attrs["leat_layout"] = "global"
        view["x"] = np.arange(40.0)
        group = view.create_group("VTKHDF")
        group.attrs["Type"] = np.bytes_("ImageData")
        group.create_group("CellData")["velocity"] = view["velocity"]
    facts = ls_json("view.h5", cwd=tmp_path)
    assert facts["parts"] == [{"file": "part-0.h5", "there": True}, {"file": "part-1.h5", "there": False}]
    assert facts["variables"][0]["shape"] == [5, 60, 40] and [d["name"] for d in facts["others"]] == ["x"]
    screen = ls("view.h5", cwd=tmp_path).stdout
    assert "2 parts: part-0.h5, part-1.h5 (missing)" in screen and "\nVTKHDF: ImageData, 1 array\n" in screen


def test_a_ledger_that_makes_no_sense_costs_one_line(folder, tmp_path):
    ledger = json.dumps({"leat_ledger": 1, "stores": 7, "entries": [{"fate": 3}, 4], "died": "x"})
    write(tmp_path, ledger=ledger).finish()
    done = ls("plate.h5", cwd=tmp_path, code=1)
    assert "plate.h5: a ledger of it makes no sense: " in done.stderr


def test_errors_teach(folder):
    text = folder / "text.txt"
    text.write_text("hello")
    assert 'did you mean "plate.h5"?' in ls("plat.h5", cwd=folder, code=1).stderr
    assert 'there is no folder "nowhere" either' in ls("nowhere/plate.h5", cwd=folder, code=1).stderr
    assert "text.txt: it is no HDF5 file" in ls("text.txt", cwd=folder, code=1).stderr
    both = ls("plat.h5", "plate.h5", cwd=folder, code=1)
    assert "temperature" in both.stdout and both.stderr
    assert ls("--nonsense", cwd=folder, code=2).stderr


def test_without_h5py_sessions_and_names_are_shown_and_it_is_said_what_to_install(folder, tmp_path):
    shutil.copy(folder / "plate.h5", tmp_path)
    (tmp_path / "python").write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without packages
    (tmp_path / "python").chmod(0o755)
    for interpreter, said in (("./python", "cannot import h5py"), ("nopython", 'no program "nopython": install Python 3 with h5py')):
        done = ls("--interpreter", interpreter, cwd=tmp_path)
        assert re.search(r"1 output file\n.*\n  plate.h5 .* KiB .*not read: there is no Python with h5py", done.stdout), done.stdout
        assert done.stderr.startswith("leat ls: ") and said in done.stderr and len(done.stderr.splitlines()) == 1
        done = ls("plate.h5", "--interpreter", interpreter, cwd=tmp_path, code=1)
        assert done.stderr.startswith("leat ls: plate.h5: ") and said in done.stderr and not done.stdout
        assert len(done.stderr.splitlines()) == 1
        assert ls("--interpreter", interpreter, cwd=folder.parent).stderr == "", "there is nothing to read"


def on_a_terminal(columns, *arguments, cwd):
    return terminal.on_a_terminal(columns, BUILD / "bin/leat", "ls", *arguments, cwd=cwd, LEAT_RUNTIME_DIR=str(cwd / "runtime"))


@pytest.mark.parametrize("columns", [50, 80, 140])
def test_tables_are_no_wider_than_the_terminal(folder, columns):
    screen = on_a_terminal(columns, "plate.h5", cwd=folder)
    assert "\033[1m" in screen and "\033" not in ls("plate.h5", cwd=folder).stdout
    plain = re.sub("\033\\[[0-9]*m", "", screen)
    assert max(len(line) for line in plain.splitlines() if ";" not in line) <= columns
    assert ("of the plate, at the cen" in plain) == (columns == 140)
    assert "fields/velocity" in plain or columns == 80


def test_a_writer_that_was_killed_in_a_commit_needs_recover_and_is_left_as_it_is(tmp_path):
    folder = tmp_path / "run"
    for number in range(60, 160):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        plugin = Plugin(folder, VARIABLES, wrapper=["strace", "-f", "-qq", "-o", "/dev/null", "-e",
                                                    f"inject=pwrite64:signal=KILL:when={number}"])
        try:
            for i in range(ITERATIONS):
                plugin.must(i, *blocks(plugin, i))
        except (AssertionError, OSError, ValueError):
            pass
        plugin.process.wait()
        journal = folder / ".run.h5.journal"
        if journal.exists() and journal.read_bytes()[:4] == b"LEAT":
            break
    else:
        pytest.fail("no kill left a journal")
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}
    seen = ls_json("run", cwd=tmp_path)["files"][0]
    assert seen["needs_recover"] and seen["state"] == "killed"
    assert "killed, run `leat recover`" in ls(cwd=folder).stdout
    done = subprocess.run([BUILD / "bin/leat", "ls", "run.h5"], cwd=folder, capture_output=True, text=True)
    assert "run `leat recover run.h5`" in done.stdout + done.stderr
    assert before == {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}
    subprocess.run([BUILD / "bin/leat", "recover", "run.h5"], cwd=folder, check=True, capture_output=True)
    facts = ls_json("run.h5", cwd=folder)
    assert not facts["needs_recover"] and facts["state"] == "unclosed"
    with h5py.File(folder / "run.h5") as file:
        assert facts["iterations"]["count"] == len(file["iteration"])


def test_one_that_asks_keeps_no_run_from_its_file(tmp_path):
    """What `leat ls` does for a moment, for longer: it shares the lock that a killed run has left."""
    lock = tmp_path / ".run.h5.lock"
    with open(lock, "w") as asker:
        fcntl.flock(asker, fcntl.LOCK_SH)
        threading.Timer(0.3, lambda: fcntl.flock(asker, fcntl.LOCK_UN)).start()
        plugin = Plugin(tmp_path, VARIABLES)
        assert ls_json("run.h5", cwd=tmp_path)["state"] == "running"
        plugin.must(0, *blocks(plugin, 0))
        plugin.finish()
    assert sorted(os.listdir(tmp_path)) == ["run.h5"]


def test_a_thousand_variables_are_shown_while_they_are_written(tmp_path):
    many = [variable(f"v{n:04}", "f4", ["x"]) for n in range(1000)]
    plugin = Plugin(tmp_path, many)
    for i in range(2):
        plugin.must(i, *(plugin.block(n, (4,), n) for n in range(1000)))
        start = time.monotonic()
        facts = ls_json("run.h5", cwd=tmp_path)
        print(f"{time.monotonic() - start:.3f} s for 1,000 variables")
        assert facts["state"] == "running" and len(facts["variables"]) == 1000 and facts["iterations"]["count"] == i + 1
    plugin.finish()


def test_files_with_damaged_bytes_are_shown_or_refused_and_cost_no_other_file(folder, tmp_path):
    """The HDF5 library crashes in some of these: in the program that `leat ls` starts, never in itself."""
    whole = bytearray((folder / "plate.h5").read_bytes())
    dice = random.Random(5)
    shutil.copy(folder / "plate.h5", tmp_path / "whole.h5")
    for number in range(30):
        damaged = bytearray(whole)
        for _ in range(dice.choice([1, 5, 40])):
            damaged[dice.randrange(60_000)] = dice.randrange(256)
        (tmp_path / f"{number}.h5").write_bytes(damaged)
    files = {f["file"]: f for f in ls_json(cwd=tmp_path)["files"]}
    assert files["whole.h5"]["problem"] == "" and files["whole.h5"]["variable_count"] == 4
    for number in range(6):  # by itself; `make soak` has others
        done = subprocess.run([BUILD / "bin/leat", "ls", f"{number}.h5"], cwd=tmp_path, capture_output=True)
        assert done.returncode in (0, 1) and (done.stderr != b"") == (done.returncode == 1)
    assert not list(tmp_path.glob("core*"))


def test_a_file_in_which_hdf5_goes_round_for_ever_is_given_up(tmp_path):
    """An object in a heap whose length brings HDF5 1.10 back to where it was."""
    write(tmp_path / "out").finish()
    path = tmp_path / "out/plate.h5"
    content = bytearray(path.read_bytes())
    for heap in re.finditer(b"GCOL", bytes(content)):
        content[heap.start() + 24:heap.start() + 32] = (2**64 - 16).to_bytes(8, "little")
    path.write_bytes(content)
    done = ls(path, cwd=tmp_path, code=1)
    assert "worked on one file for 10 seconds: it is damaged" in done.stderr and "cannot cope with it" in done.stderr
