# SPDX-License-Identifier: Apache-2.0
"""reduce="...": one value of all that ranks have, and profiles, compared with exact sums of Python."""
import math
import os
import signal
import subprocess
import threading
import time

import h5py
import numpy as np
import pytest
from derived_run import NX, fields, run, stored, text
from leat_run import BUILD, LIMIT, same_bits

REDUCED = """<variable name="least" expr="u" reduce="min"/><variable name="most" expr="u*v" reduce="max"/>
<variable name="total" expr="v" reduce="sum"/><variable name="middle" expr="v" reduce="mean"/>
<variable name="of_rows" expr="v" reduce="mean(x)"/><variable name="of_columns" expr="v" reduce="sum(y)"/>
<variable name="of_part" expr="v" select="y=1:4, x=2:11:3" reduce="mean(y)"/><variable name="of_line" expr="v" select="y=2" reduce="sum"/>
<variable name="count" expr="n" reduce="max"/>"""


def exact(values, axes):
    """The exact sum along these axes, rounded once."""
    moved = np.moveaxis(values, axes, range(len(axes)))
    left = moved.shape[len(axes):]
    return np.array([math.fsum(each) for each in moved.reshape(-1, math.prod(left)).T]).reshape(left)


def expect(folder, whole, iterations, file="run.h5"):
    u, v, n = whole["u"], whole["v"], whole["n"]
    for row, i in enumerate(iterations):
        wanted = {"least": u[i].min(), "most": (u[i] * v[i]).max(), "total": exact(v[i], (0, 1)), "middle": exact(v[i], (0, 1)) / v[i].size,
                  "of_rows": exact(v[i], (1,)) / NX, "of_columns": exact(v[i], (0,)),
                  "of_part": exact(v[i, 1:4, 2:11:3], (0,)) / 3, "of_line": exact(v[i, 2], (0,)), "count": n[i].max()}
        for name, value in wanted.items():
            found = stored(folder, name, file)
            assert found.shape == (len(iterations), *np.shape(value)), (name, found.shape)
            assert same_bits(found[row], np.asarray(value, found.dtype)), (name, i)


@pytest.mark.parametrize("ranks", [1, 2, 4, 6])
def test_they_have_the_same_bits_for_any_number_of_ranks(tmp_path, ranks):
    whole = fields(3)
    log = run(tmp_path, REDUCED, whole, ranks)
    assert "not made" not in log and "holes" not in log, log
    expect(tmp_path, whole, range(3))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["count"].dtype == np.int32 and file["of_rows"].attrs["cell_methods"] == b"x: mean"
        assert file["least"].attrs["units"] == b"m/s"


def test_several_servers_have_one_value_in_their_view(tmp_path):
    whole = fields(4)
    log = run(tmp_path, REDUCED, whole, 4, cores='2" servers="2')
    assert "have given their part" not in log, log
    expect(tmp_path, whole, range(4))


def test_what_is_made_of_them_is_made_on_all_servers(tmp_path):
    whole = fields(3)
    run(tmp_path, """<variable name="mean_now" expr="v" reduce="mean"/><variable name="profile" expr="v" reduce="mean(x)"/>
        <variable name="away" expr="v - mean_now"/><variable name="of_row" expr="v - profile"/>
        <variable name="deviation" expr="(v - mean_now)^2" reduce="mean"/><variable name="twice" expr="2*mean_now"/>""",
        whole, 4, cores='2" servers="2')
    v = whole["v"]
    means = [exact(each, (0, 1)) / each.size for each in v]
    assert same_bits(stored(tmp_path, "away"), v - np.array(means).reshape(-1, 1, 1))
    assert same_bits(stored(tmp_path, "twice"), 2 * np.array(means))
    assert same_bits(stored(tmp_path, "of_row"), v - np.array([exact(each, (1,)) / NX for each in v])[:, :, None])
    deviations = [exact((each - mean) ** 2, (0, 1)) / each.size for each, mean in zip(v, means)]
    assert same_bits(stored(tmp_path, "deviation"), np.array(deviations))


def test_over_time_and_at_times(tmp_path):
    whole = fields(6)
    run(tmp_path, """<variable name="most" expr="u" reduce="max"/><variable name="most_of_all" expr="most" operation="max" every="3"/>
        <variable name="seldom" expr="u" reduce="min" every="2"/>""", whole, 2)
    assert same_bits(stored(tmp_path, "most"), whole["u"].max(axis=(1, 2)))
    assert same_bits(stored(tmp_path, "most_of_all", "run-over-3.h5"), whole["u"].reshape(2, -1).max(axis=1))
    assert same_bits(stored(tmp_path, "seldom", "run-every-2.h5"), whole["u"][::2].min(axis=(1, 2)))


def test_what_is_no_number_is_in_it(tmp_path):
    whole = fields(3)
    whole["u"][0, 1, 2] = np.nan
    whole["u"][1, 1, 2] = np.inf
    whole["u"][2, 1, 2], whole["u"][2, 3, 7] = np.inf, -np.inf
    run(tmp_path, '<variable name="total" expr="u" reduce="sum"/><variable name="least" expr="u" reduce="min"/>'
                  '<variable name="most" expr="u" reduce="max"/>', whole, 2)
    total = stored(tmp_path, "total")
    assert np.isnan(total[0]) and total[1] == np.inf and np.isnan(total[2])
    least, most = stored(tmp_path, "least"), stored(tmp_path, "most")
    assert np.isnan(least[0]) and np.isnan(most[0]) and most[1] == np.inf and least[2] == -np.inf and most[2] == np.inf


def test_a_server_that_is_killed_while_others_wait(tmp_path):
    """Each in its turn, at some moment of the iteration that follows."""
    whole = fields(12, seed=5)

    def kill(its_run, iteration):
        def later(server):
            time.sleep(0.003 * (iteration % 5))
            try:
                os.kill(server, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it had come to its end
        servers = its_run.servers()
        threading.Thread(target=later, args=[servers[iteration % len(servers)]]).start()

    log = run(tmp_path, REDUCED, whole, 4, cores='2" servers="2', sync=True, after=kill)
    assert "not made" not in log, log
    expect(tmp_path, whole, range(12))


def test_a_server_that_is_stopped_keeps_others_waiting_for_a_while(tmp_path):
    """Who of the two goes on is open. Each value in the file is that of all, or of the ranks of one server, which is said; two servers
    never tell two values of the run, and one that is not there is said, too."""
    whole, stopped = fields(4, seed=6), []

    def stop(its_run, iteration):
        if iteration == 0:
            stopped.append(max(its_run.servers()))
            os.kill(stopped[0], signal.SIGSTOP)
            threading.Timer(4.5, os.kill, [stopped[0], signal.SIGCONT]).start()

    try:
        log = run(tmp_path, '<variable name="total" expr="v" reduce="sum"/>', whole, 4, cores='2" servers="2', timeout="6s", after=stop)
    except AssertionError as not_stored:
        log = str(not_stored)
    parts = []
    until = time.monotonic() + LIMIT
    while len(parts) < 2 or any(len(part) < 4 for part in parts):
        assert time.monotonic() < until, (parts, log)
        parts = [of_part(path) for path in tmp_path.glob("run.parts/*/*.h5")]
    halves = whole["v"][:, :, :NX // 2], whole["v"][:, :, NX // 2:]
    for i in range(4):
        told = [part[i] for part in parts if not np.isnan(part[i])]
        assert len(told) <= 1, parts
        if told != [exact(whole["v"][i], (0, 1))]:
            assert not told or told[0] in [exact(each[i], (0, 1)) for each in halves], (i, parts)
            assert "servers of the run have given their part" in log or "not made: what the other servers" in log, log
    assert stopped


def of_part(path):
    """`total` of the iterations of a part; of one that is being written none, and NaN where it has told none."""
    try:
        with h5py.File(path) as file:
            return file["total"][:].reshape(-1) if "total" in file else np.full(len(file["iteration"]), np.nan)
    except (KeyError, OSError):
        return []


@pytest.mark.parametrize("attributes, said", [
    ('reduce="median"', 'there is no "median"'),
    ('reduce="mean(z)"', 'there is no dimension "z"'),
    ('reduce="mean(x"', "the parenthesis has no end"),
    ('reduce="mean(x)" select="x=3"', 'there is no dimension "x"'),
    ('reduce="mean" operation="mean" every="3"', "of a second variable")])
def test_what_cannot_be_reduced_is_refused(tmp_path, attributes, said):
    (tmp_path / "run.xml").write_text(text(f'<variable name="part" expr="u" {attributes}/>', 2))
    done = subprocess.run([BUILD / "bin/leat", "check", tmp_path / "run.xml"], capture_output=True, text=True)
    assert done.returncode != 0 and said in done.stderr + done.stdout, (done.stdout, done.stderr)
