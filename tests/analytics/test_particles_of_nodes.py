# SPDX-License-Identifier: Apache-2.0
"""Radial distributions and bonds of a run on several nodes, against NumPy over all particles: pairs count wherever their two particles
are. Eight ranks on one, two and four nodes have the same bits."""
import contextlib
import os
import signal
import time

import h5py
import numpy as np
import pytest
from arrays_run import products, store, write_arrays
from leat_run import LIMIT, xml

RANKS, COUNT, ITERATIONS = 8, 1600, 4
BOX = np.array([9., 10., 11.])
RMAX, BINS, CUTOFF, BREAK = 2.2, 22, 0.75, 0.85
DATA = ('<layout name="p" type="double" dimensions="?,3"/><variable name="x" layout="p" store="out,g,b"/>'
        '<layout name="n" type="long" dimensions="?"/><variable name="id" layout="n" store="out,b"/>')
MISSING = ("x_servers_missing", "x_left_out")


def stores(**more):
    box = {"box": "9,10,11", **more}
    return ('<store name="out" type="hdf5"/>' + store("g", "radial", rmax=RMAX, bins=BINS, **box) +
            store("b", "bonds", cutoff=CUTOFF, **{"break": BREAK}, ids="id", adjacency="yes", **box))


def drifting():
    """For each rank {(variable, iteration): array}, of slabs along the first axis and of the ranks that they are handed to; and for each
    iteration the positions, numbers and ranks of all."""
    chance = np.random.default_rng(11)
    points, ids = chance.uniform(0, 1, (COUNT, 3)) * BOX, chance.permutation(10 * COUNT)[:COUNT]
    ranks, states = [{} for _ in range(RANKS)], []
    for i in range(ITERATIONS):
        owners = (np.mod(points[:, 0] / BOX[0], 1) * RANKS).astype(int)
        for rank, arrays in enumerate(ranks):
            its = owners == rank
            arrays["x", i], arrays["id", i] = points[its], ids[its].astype("i8")
        states.append((points.copy(), ids, owners))
        points = points + chance.normal(0, .12, points.shape)
    return ranks, states


def square_distances(points):
    apart = points[:, None, :] - points[None, :, :]
    apart -= BOX * np.round(apart / BOX)
    square = apart[..., 0] ** 2 + apart[..., 1] ** 2
    return square + apart[..., 2] ** 2


def counted(points):
    """Pairs by bin, and g."""
    near = np.sqrt(square_distances(points)[np.triu_indices(len(points), 1)])
    counts, edges = np.histogram(near[near < RMAX], BINS, (0, RMAX))
    shells = np.diff(4 / 3 * np.pi * edges ** 3)
    return counts, 2 * counts / (len(points) ** 2 / np.prod(BOX) * shells)


def pairs_of(points, ids):
    near = np.triu(square_distances(points) <= CUTOFF ** 2, 1)
    return sorted(tuple(sorted((int(ids[i]), int(ids[j])))) for i, j in np.argwhere(near))


def expect_radial(found, i, points):
    counts, g = counted(points)
    assert found["x_pairs"][i] == counts.sum()
    np.testing.assert_allclose(found["x_radial"][i], g, rtol=1e-12)


def expect_bonds(found, i, first, points, ids):
    place = {int(number): k for k, number in enumerate(ids)}
    known = [(place[a], place[b]) for a, b in first if a in place and b in place]
    square = square_distances(points)
    assert found["x_bonds"][i] == len(first) and found["x_missing"][i] == len(first) - len(known)
    assert found["x_broken"][i] == sum(square[a, b] > BREAK ** 2 for a, b in known)
    now = pairs_of(points, ids)
    assert [tuple(pair) for pair in found["x_adjacency"][i][:len(now)].tolist()] == now
    neighbours = np.bincount(np.bincount([place[number] for pair in now for number in pair], minlength=len(ids)))
    assert found["x_coordination"][i][:len(neighbours)].tolist() == neighbours.tolist()


def run_of(folder, nodes, after=None, **more):
    """Products of both, and all states."""
    ranks, states = drifting()
    write_arrays(folder, xml(DATA, store=stores(**more)), ranks, after, nodes)
    part = "parts/rank000000/" if nodes > 1 else ""
    return products(folder, "g", part), products(folder, "b", part), states


@pytest.fixture(scope="module")
def one_node(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("one"), 1)


def test_on_one_node_they_are_those_of_numpy(one_node):
    (radial, _), (bonds, _), states = one_node
    first = pairs_of(*states[0][:2])
    for i, (points, ids, _) in enumerate(states):
        expect_radial(radial, i, points)
        expect_bonds(bonds, i, first, points, ids)
    assert bonds["x_broken"][-1] > 0 and not set(MISSING) & set(radial)


def expect_same(found, expected, killed):
    """killed: what is made anew may come behind later iterations; and the others may have gone on without the server, on a machine that
    has much to do, which each row says."""
    (found, at), (expected, _) = found, expected
    assert (sorted(at) if killed else at) == list(range(ITERATIONS))
    found = {name: values[np.argsort(at)] if len(values) == len(at) else values for name, values in found.items()}
    whole = found["x_servers_missing"] == 0
    assert killed or whole.all()
    for name, values in expected.items():
        rows = whole if len(values) == len(whole) else slice(None)  # edges of bins are once for all
        assert np.array_equal(found[name][rows], values[rows], equal_nan=values.dtype.kind == "f"), (name, whole)
    assert all((found[name][whole] == 0).all() for name in MISSING)


@pytest.mark.parametrize("nodes", [2, 4])
@pytest.mark.parametrize("killed", [False, True], ids=["", "a server is killed"])
def test_on_several_nodes_they_have_the_same_bits(tmp_path, one_node, nodes, killed):
    def kill(run, iteration):
        if killed and iteration == 1:
            os.kill(run.server_of(1), signal.SIGKILL)  # its ranks look after it now and then, and start the next one

    radial, bonds, _ = run_of(tmp_path, nodes, kill)
    expect_same(radial, one_node[0], killed)
    expect_same(bonds, one_node[1], killed)
    assert not list(tmp_path.glob("*.bonds*"))


def await_bonds(run, iteration):
    """Until those of all servers are stored."""
    until = time.monotonic() + LIMIT
    while True:
        with contextlib.suppress(OSError, KeyError, ValueError):  # it is not there yet
            (path,) = run.folder.glob("run.parts/*/rank000000.h5")
            with h5py.File(path) as file:
                if iteration in file["products/b/iteration"][:]:
                    return
        assert time.monotonic() < until
        time.sleep(0.02)


def kill_node(run, iteration):
    """Node 1 of four, which has the ranks 2 and 3 of eight; so that none of them starts another server."""
    if iteration != 1:
        return ()
    await_bonds(run, 0)
    server = run.server_of(1)
    os.kill(server, signal.SIGSTOP)
    for rank in run.processes[2:4]:
        rank.kill()
    os.kill(server, signal.SIGKILL)
    return run.processes[2:4]


def test_without_a_node_that_dies_they_are_those_of_the_others_and_say_so(tmp_path):
    (radial, at), (bonds, _), states = run_of(tmp_path, 4, kill_node)
    assert at == list(range(ITERATIONS)) and radial["x_servers_missing"][-1] == bonds["x_servers_missing"][-1] == 1
    all_first = pairs_of(*states[0][:2])
    owner = dict(zip(states[0][1].tolist(), states[0][2].tolist()))
    # A bond is that of the lower of its two servers.
    of_others = [bond for bond in all_first if min(owner[number] // 2 for number in bond) != 1]
    expect_bonds(bonds, 0, all_first, *states[0][:2])
    for i in (2, 3):
        points, ids, owners = states[i]
        there = owners // 2 != 1
        assert radial["x_servers_missing"][i] == 1 and radial["x_left_out"][i] == 0
        expect_radial(radial, i, points[there])
        expect_bonds(bonds, i, of_others, points[there], ids[there])


def test_with_scope_node_each_server_has_its_own_pairs(tmp_path):
    (radial, _), (bonds, _), states = run_of(tmp_path, 2, scope="node")
    for part, its in (("parts/rank000000/", (0, 1, 2, 3)), ("parts/rank000004/", (4, 5, 6, 7))):
        radial, bonds = products(tmp_path, "g", part)[0], products(tmp_path, "b", part)[0]
        points, ids, owners = states[0]
        own = np.isin(owners, its)
        expect_radial(radial, 0, points[own])
        expect_bonds(bonds, 0, pairs_of(points[own], ids[own]), points[own], ids[own])
        assert not set(MISSING) & set(radial)
