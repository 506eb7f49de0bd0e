# SPDX-License-Identifier: Apache-2.0
"""What the analyses that come with Leat compute, against NumPy."""
import itertools
import os
import pathlib
import re
import signal

import h5py
import numpy as np
import pytest
from arrays_run import products, store, write_arrays
from leat_run import xml

OUT = '<store name="out" type="hdf5"/>'
TYPES = {"i1": "int8", "u2": "uint16", "i4": "int", "u8": "uint64", "f4": "float", "f8": "double"}


def each_type(shape="?"):
    return "".join(f'<layout name="{t}" type="{x}" dimensions="{shape}"/><variable name="{t}" layout="{t}" unit="K"/>'
                   for t, x in TYPES.items())


def numbers(kind, count, seed):
    chance = np.random.default_rng(seed)
    if kind in ("f4", "f8"):
        values = chance.normal(280, 12, count).astype(kind)
        values[chance.integers(0, count, 7)] = [np.nan, np.inf, -np.inf, 0, -1, 1e10, 1e-10]
        return values
    limits = np.iinfo(kind)
    return chance.integers(limits.min // 2, limits.max // 2, count, dtype=kind)


@pytest.fixture(scope="module", params=[1, 3], ids=["one core", "three cores"])
def values(request, tmp_path_factory):
    """A run of two ranks: what they wrote, and its folder."""
    folder = tmp_path_factory.mktemp("values")
    # Sizes around that of a piece, and none at all.
    sizes = [[70001, 1], [65536, 0], [3, 200000]]
    ranks = [{(t, i): numbers(t, sizes[i][r] + 64, 100 * i + 10 * r + k)[:sizes[i][r]] for i in range(3) for k, t in enumerate(TYPES)}
             for r in range(2)]
    stores = OUT + store("stats", "statistics") + store("counts", "histogram", bins=37)
    stores += store("fixed", "histogram", bins=10, min=250, max=300)
    write_arrays(folder, xml(each_type(), buffer="64MiB", store=stores, cores=request.param), ranks)
    return folder, [{t: np.concatenate([rank[t, i] for rank in ranks]) for t in TYPES} for i in range(3)]


def test_statistics_are_those_of_numpy(values):
    folder, written = values
    found, iterations = products(folder, "stats")
    assert iterations == [0, 1, 2]
    for i, t in itertools.product(range(3), TYPES):
        all_of_them = written[i][t].astype("f8")
        finite = all_of_them[np.isfinite(all_of_them)]
        assert found[f"{t}_count"][i] == finite.size and found[f"{t}_not_finite"][i] == all_of_them.size - finite.size
        assert found[f"{t}_min"][i] == finite.min() and found[f"{t}_max"][i] == finite.max()
        np.testing.assert_allclose([found[f"{t}_mean"][i], found[f"{t}_std"][i]], [finite.mean(), finite.std()], rtol=1e-12)


def test_histograms_are_those_of_numpy(values):
    folder, written = values
    found, _ = products(folder, "counts")
    for i, t in itertools.product(range(3), TYPES):
        all_of_them = written[i][t].astype("f8")
        finite = all_of_them[np.isfinite(all_of_them)]
        counts, edges = np.histogram(finite, 37)
        assert found[f"{t}_histogram"][i].tolist() == counts.tolist(), (i, t)
        np.testing.assert_allclose(found[f"{t}_edges"][i], edges, rtol=1e-15)
        assert found[f"{t}_below"][i] == found[f"{t}_above"][i] == 0


def test_a_histogram_says_what_is_outside_of_its_range(values):
    folder, written = values
    found, _ = products(folder, "fixed")
    for i, t in itertools.product(range(3), TYPES):
        all_of_them = written[i][t].astype("f8")
        finite = all_of_them[np.isfinite(all_of_them)]
        assert found[f"{t}_histogram"][i].tolist() == np.histogram(finite, 10, (250, 300))[0].tolist()
        assert (found[f"{t}_below"][i], found[f"{t}_above"][i]) == ((finite < 250).sum(), (finite > 300).sum())
        assert found[f"{t}_not_finite"][i] == all_of_them.size - finite.size


def test_ghost_cells_do_not_count(tmp_path):
    layout = '<layout name="g" type="double" dimensions="6,5,7" ghosts="1,2:1,0"/><variable name="group.g" layout="g"/>'
    array = np.random.default_rng(1).normal(size=(6, 5, 7))
    write_arrays(tmp_path, xml(layout, store=OUT + store("stats", "statistics")), [{("group.g", 0): array}])
    found, _ = products(tmp_path, "stats")
    own = array[1:-1, 2:-1, :]
    assert found["group.g_count"][0] == own.size
    assert (found["group.g_min"][0], found["group.g_max"][0]) == (own.min(), own.max())


POSITIONS = ('<layout name="p" type="double" dimensions="?,{axes}"/><variable name="x" layout="p" unit="nm"/>'
             '<layout name="n" type="long" dimensions="?"/><variable name="id" layout="n"/>')


def distances(points, box):
    apart = points[:, None, :] - points[None, :, :]
    if box is not None:
        apart -= box * np.round(apart / box)
    square = (apart ** 2).sum(-1)
    return np.sqrt(square[np.triu_indices(len(points), 1)])


def scattered(count, axes, box, seed):
    return np.random.default_rng(seed).uniform(-0.3, 1.2, (count, axes)) * box


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("periodic", [True, False])
def test_the_radial_distribution_is_that_of_all_pairs(tmp_path, axes, periodic):
    box = np.array([10., 12., 9.])[:axes]
    ranks = [{("x", i): scattered(700 + 600 * r, axes, box, 10 * i + r) for i in range(2)} for r in range(2)]
    options = {"rmax": 4, "bins": 40, **({"box": ",".join(map(str, box))} if periodic else {})}
    write_arrays(tmp_path, xml(POSITIONS.format(axes=axes), store=OUT + store("g", "radial", **options)), ranks)
    found, _ = products(tmp_path, "g")
    for i in range(2):
        points = np.concatenate([rank["x", i] for rank in ranks])
        near = distances(points, box if periodic else None)
        counts, edges = np.histogram(near[near < 4], 40, (0, 4))
        volume = np.prod(box) if periodic else np.prod(np.ptp(points, axis=0))
        shells = np.diff(np.pi * edges ** 2 if axes == 2 else 4 / 3 * np.pi * edges ** 3)
        assert found["x_pairs"][i] == counts.sum()
        np.testing.assert_allclose(found["x_radial"][i], 2 * counts / (len(points) ** 2 / volume * shells), rtol=1e-12)
        np.testing.assert_allclose(found["x_radius"][i], (edges[1:] + edges[:-1]) / 2)


def bonds_of(points, ids, box, cutoff):
    near = np.triu(np.ones((len(points),) * 2, bool), 1)
    apart = points[:, None, :] - points[None, :, :]
    apart -= box * np.round(apart / box)
    near &= (apart ** 2).sum(-1) <= cutoff ** 2
    return sorted(tuple(sorted((int(ids[i]), int(ids[j])))) for i, j in np.argwhere(near))


def moved(count, iterations, box):
    """Particles that drift, and that the ranks hand to each other: for each rank {(variable, iteration): array}."""
    chance = np.random.default_rng(5)
    points, ids = chance.uniform(0, 1, (count, 3)) * box, chance.permutation(10 * count)[:count]
    ranks, states = [{}, {}], []
    for i in range(iterations):
        order = chance.permutation(count)
        parts = order[:count // 3], order[count // 3:]
        for rank, part in zip(ranks, parts):
            rank["x", i], rank["id", i] = points[part], ids[part].astype("i8")
        states.append((points.copy(), ids))
        points = points + chance.normal(0, .08, points.shape)
    return ranks, states


@pytest.mark.parametrize("killed", [False, True], ids=["", "leatd is killed"])
def test_bonds_are_those_of_the_first_iteration_and_are_kept_when_the_server_dies(tmp_path, killed):
    box, iterations = np.array([6., 7., 8.]), 6
    ranks, states = moved(900, iterations, box)
    options = {"cutoff": 0.7, "break": 0.8, "box": "6,7,8", "ids": "id", "adjacency": "yes"}

    def kill(run, iteration):
        if killed and iteration in (2, 4):
            for server in run.servers():  # ranks look after it now and then, and start the next one
                os.kill(server, signal.SIGKILL)

    write_arrays(tmp_path, xml(POSITIONS.format(axes=3), store=OUT + store("b", "bonds", **options)), ranks, kill)
    found, at = products(tmp_path, "b")
    assert at == list(range(iterations))
    first = bonds_of(*states[0], box, 0.7)
    for i, (points, ids) in enumerate(states):
        now = bonds_of(points, ids, box, 0.7)
        place = {int(number): k for k, number in enumerate(ids)}
        apart = np.array([points[place[a]] - points[place[b]] for a, b in first])
        apart -= box * np.round(apart / box)
        assert found["x_bonds"][i] == len(first) and found["x_missing"][i] == 0
        assert found["x_broken"][i] == ((apart ** 2).sum(-1) > 0.8 ** 2).sum()
        neighbours = np.bincount(np.bincount(np.searchsorted(np.sort(ids), np.array(now).ravel()), minlength=len(ids)))
        assert found["x_coordination"][i][:len(neighbours)].tolist() == neighbours.tolist()
        pairs = found["x_adjacency"][i]
        assert [tuple(pair) for pair in pairs[:len(now)].tolist()] == now
    assert found["x_broken"][0] == 0 and found["x_broken"][-1] > 0
    assert not list(tmp_path.glob("*.bonds*"))


def test_the_stores_of_the_page_compute_what_its_table_says(tmp_path):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/how-to/analyse-in-c++.md").read_text()
    _, stores = re.findall(r"```xml\n(.*?)```", page, re.S)
    arrays = {("x", 0): scattered(200, 3, 10, 1), ("id", 0): np.arange(200)}
    write_arrays(tmp_path, xml(POSITIONS.format(axes=3), store=OUT + stores), [arrays])
    for name, row in (("stats", "statistics"), ("counts", "histogram"), ("g", "radial"), ("bonds", "bonds")):
        (cells,) = [line.split("|") for line in page.splitlines() if line.startswith(f"| `{row}` |")]
        said = set(re.findall(r"`v_(\w+)`", cells[3]))
        found = {each.removeprefix("x_") for each in products(tmp_path, name)[0] if each.startswith("x_")}
        assert said - {"adjacency"} <= found, (found, said)


@pytest.mark.parametrize("type_, options, words", [
    ("radial", {}, "option rmax is needed"), ("radial", {"rmax": "far"}, 'option rmax="far": a number from 0'),
    ("radial", {"rmax": 6, "box": "10,10,10"}, "greater than half of the box"),
    ("radial", {"rmax": 1, "box": "10"}, "two or three lengths"),
    ("histogram", {"bins": 1.5}, "a whole number"), ("histogram", {"bins": 0}, "from 1 to"),
    ("histogram", {"min": 2, "max": 1}, "less than option max"), ("bonds", {"cutoff": 0}, "greater than 0"),
    ("radial", {"rmax": 1, "positions": "id"}, "has no positions"), ("bonds", {"cutoff": 1, "ids": "ids"}, "0 numbers of them in ids"),
    ("radial", {"rmax": 1, "box": "9,9"}, "the particles have 3 axes")])
def test_what_cannot_be_done_is_said_and_harms_no_other_store(tmp_path, type_, options, words):
    points = scattered(50, 3, 9, 1)
    text = xml(POSITIONS.format(axes=3), store=OUT + store("s", type_, **options))
    with pytest.raises(AssertionError) as said:
        write_arrays(tmp_path, text, [{("x", 0): points, ("id", 0): np.arange(50)}])
    assert words in str(said.value) and "not all" in str(said.value)
    with h5py.File(tmp_path / "run.h5") as file:
        assert np.array_equal(file["x"][:50], points)
