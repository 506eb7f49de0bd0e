# SPDX-License-Identifier: Apache-2.0
"""The scripts that come with Leat give the right numbers, and pictures that can be drawn, on any data."""
import io
import pathlib
import pickle
import re

import numpy as np
import pytest
import xarray as xr
from shipped import EXAMPLES, Context, load

pytestmark = pytest.mark.filterwarnings("error")  # a script that warns at each iteration fills the log


def field(values, dims="yx", **attrs):
    """A variable of a Dataset as Leat gives it: nobody may write into it."""
    values = np.array(values)
    values.flags.writeable = False
    return xr.Variable(tuple(dims), values, attrs)


def png(figure):
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


# --- statistics ---


def test_statistics_of_an_iteration_are_those_of_numpy():
    values = np.random.default_rng(1).normal(300, 20, (40, 30))
    ctx = Context()
    load("analysis/statistics.py").process(xr.Dataset({"T": field(values)}), ctx)
    expected = {"min": values.min(), "max": values.max(), "mean": values.mean(), "std": values.std(),
                "p5": np.percentile(values, 5), "p50": np.median(values), "p95": np.percentile(values, 95), "not_finite": 0,
                "run_count": values.size, "run_min": values.min(), "run_max": values.max(), "run_mean": values.mean()}
    assert ctx.scalars == {f"T_{column}": pytest.approx(value, rel=1e-14) for column, value in expected.items()}


def test_statistics_of_the_run_are_those_of_all_iterations_together():
    script, ctx, seen = load("analysis/statistics.py"), Context(), []
    for iteration in range(20):  # particles: another number of them in each iteration
        seen.append(np.random.default_rng(iteration).normal(1e6, 1, 100 * (iteration % 3)))
        ctx.next(iteration)
        ctx.state = pickle.loads(pickle.dumps(ctx.state))  # a worker was started anew
        script.process(xr.Dataset({"m": field(seen[-1], ["atom"])}), ctx)
    together = np.concatenate(seen)
    for column in ("min", "max", "mean"):
        assert ctx.scalars[f"m_run_{column}"] == pytest.approx(getattr(together, column)(), rel=1e-14)


def test_the_mean_of_a_long_run_is_not_rounded_away():
    """A sum of single-precision values would be: 16777216 + 1 is 16777216."""
    script, ctx = load("analysis/statistics.py"), Context()
    for _ in range(1000):
        script.process({"x": np.full(20000, 1.1, "f4")}, ctx)
    assert ctx.scalars["x_run_mean"] == pytest.approx(np.float64(np.float32(1.1)), rel=1e-14)


def test_statistics_count_what_is_not_finite_and_leave_it_out():
    ctx = Context()
    load("analysis/statistics.py").process({"x": np.array([1.0, np.nan, 3.0, np.inf])}, ctx)
    assert (ctx.scalars["x_not_finite"], ctx.scalars["x_mean"], ctx.scalars["x_run_max"]) == (2, 2.0, 3.0)


def test_statistics_of_no_values_are_not_numbers():
    ctx = Context()
    load("analysis/statistics.py").process({"x": np.zeros((0, 3))}, ctx)
    assert ctx.scalars.pop("x_not_finite") == ctx.scalars.pop("x_run_count") == 0
    assert len(ctx.scalars) == 10 and np.isnan(list(ctx.scalars.values())).all()


def test_statistics_take_integers_and_pass_over_text_and_complex_numbers():
    ctx = Context()
    data = {"n": np.array([1, 2, 4], "i4"), "text": np.array([b"a", b"b"]), "z": np.array([1j])}
    load("analysis/statistics.py").process(data, ctx)
    assert ctx.scalars["n_mean"] == pytest.approx(7 / 3) and all(name.startswith("n_") for name in ctx.scalars)


# --- histogram ---


def test_a_histogram_has_each_value_once_in_bins_that_span_the_run():
    script, ctx = load("analysis/histogram.py"), Context()
    for iteration, values in enumerate([[0.0, 10.0, 5.0, np.nan], [2.0, 3.0]]):
        ctx.next(iteration)
        script.process(xr.Dataset({"T": field(values, ["p"], units="K", long_name="temperature")}), ctx)
        edges, counts = ctx.stored["T_edges"], ctx.stored["T_counts"]
        assert (edges[0], edges[-1], len(edges)) == (0, 10, len(counts) + 1)
        assert np.array_equal(counts, np.histogram(values, bins=edges)[0]) and counts.sum() == np.isfinite(values).sum()
    assert ctx.units["T_edges"] == "K"
    axes = ctx.images["T_histogram"].axes[0]
    assert axes.get_xlabel() == "T / K" and axes.get_title(loc="left") == "temperature, iteration 1"
    assert png(ctx.images["T_histogram"])


@pytest.mark.parametrize("values", [np.zeros(0), np.full(3, np.nan), np.full(5, 7.0), np.arange(5, dtype="i8")])
def test_a_histogram_of_few_or_equal_values_can_be_drawn(values):
    ctx = Context()
    load("analysis/histogram.py").process(xr.Dataset({"T": field(values, ["p"])}), ctx)
    assert all(png(figure) for figure in ctx.images.values())
    assert sum(ctx.stored.get("T_counts", [])) == np.isfinite(values).sum()


# --- heat map ---


def test_a_heat_map_shows_the_field_with_units_and_with_one_colour_scale_for_the_run():
    script, ctx = load("analysis/heat_map.py"), Context()
    hot = 300 + 100 * np.random.default_rng(1).random((64, 48))
    for iteration, values in enumerate([hot, 350 + (hot - 350) / 4]):
        ctx.next(iteration)
        ctx.state = pickle.loads(pickle.dumps(ctx.state))
        script.process(xr.Dataset({"temperature": field(values, units="K", long_name="of the plate")}), ctx)
        axes, bar = ctx.images["temperature"].axes
        assert axes.images[0].get_clim() == (hot.min(), hot.max())
        assert np.array_equal(axes.images[0].get_array(), values)
        assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()) == (
            f"of the plate, iteration {iteration}", "x / cells", "y / cells", "temperature / K")
    assert png(ctx.images["temperature"])


def test_isolines_lie_where_the_field_has_their_value():
    ctx = Context()
    load("analysis/heat_map.py").process(xr.Dataset({"T": field(np.add.outer(np.zeros(20), np.arange(50.0)))}), ctx)
    lines = [path for c in ctx.images["T"].axes[0].collections for path in c.get_paths() if len(path.vertices)]
    assert len(lines) > 3
    for path in lines:  # T = x here
        x = path.vertices[:, 0]
        assert np.ptp(x) == 0 and x[0] % 5 == 0


def test_coordinates_are_the_axes():
    ctx, values = Context(), np.arange(12.0).reshape(3, 4)
    places = {"y": field([10.0, 20, 30], "y", units="m"), "x": field([0.0, 1, 2, 3], "x")}
    load("analysis/heat_map.py").process(xr.Dataset({"T": field(values)}, coords=places), ctx)
    axes = ctx.images["T"].axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y / m")
    assert list(axes.images[0].get_extent()) == [-0.5, 3.5, 5, 35]


def test_of_three_dimensions_the_middle_slice_is_drawn():
    ctx, values = Context(), np.random.default_rng(1).random((5, 4, 6))
    load("analysis/heat_map.py").process(xr.Dataset({"p": field(values, "zyx")}), ctx)
    axes = ctx.images["p"].axes[0]
    assert np.array_equal(axes.images[0].get_array(), values[2]) and "z = 2" in axes.get_title()


def test_values_of_both_signs_get_colours_around_zero():
    ctx = Context()
    load("analysis/heat_map.py").process(xr.Dataset({"v": field([[-1.0, 0], [1, 3]])}), ctx)
    assert ctx.images["v"].axes[0].images[0].get_clim() == (-3, 3)


def test_a_large_field_is_thinned_out_and_keeps_its_axes():
    ctx = Context()
    load("analysis/heat_map.py").process(xr.Dataset({"T": field(np.zeros((4000, 3)) + [1, 2, 3])}), ctx)
    image = ctx.images["T"].axes[0].images[0]
    assert image.get_array().shape == (1000, 3) and image.get_extent()[3] == pytest.approx(4000, abs=4)


@pytest.mark.parametrize("values", [
    np.zeros((3, 3)), np.full((3, 3), np.nan), [[np.nan, 1], [2, 3]], [[1, np.inf], [2, 3]], np.eye(4, dtype="i4"),
    np.zeros((0, 3)), np.zeros((1, 8)), np.arange(600.0).reshape(2, 300), np.zeros((0, 3, 3)), np.ones((1, 2, 2)),
    np.ones((2, 1, 2)), np.ones(4), np.ones((2,) * 4)])
def test_any_field_can_be_drawn_or_is_passed_over(values):
    ctx = Context()
    load("analysis/heat_map.py").process(xr.Dataset({"T": field(values, "abcd"[:np.ndim(values)])}), ctx)
    assert all(png(figure) for figure in ctx.images.values())


def test_a_picture_of_nothing_after_something_can_be_drawn():
    script, ctx = load("analysis/heat_map.py"), Context()
    for values in (np.eye(3), np.full((3, 3), np.nan)):
        script.process(xr.Dataset({"T": field(values)}), ctx)
    assert png(ctx.images["T"])


def test_particles_are_no_field():
    ctx = Context()
    data = xr.Dataset({"x": field(np.zeros((9, 3)), ["atom", "xyz"]),
                       "stress": field(np.zeros((9, 3, 3)), ["atom", "xyz", "abc"])},
                      coords={"atom_rank": ("atom", np.zeros(9, "i4"))})
    load("analysis/heat_map.py").process(data, ctx)
    assert ctx.images == {}


# --- broken bonds ---

bonds = load("lammps/analysis/broken_bonds.py")


def lattice(columns, rows, spacing=1.114):
    """Atoms of a hexagonal lattice, row by row from below; every second row is half a place to the right."""
    y, x = np.mgrid[:rows, :columns].reshape(2, -1).astype(float)
    return spacing * np.stack([x + 0.5 * (y % 2), y * np.sqrt(3) / 2, 0 * x], axis=1)


def bonds_of_lattice(columns, rows):
    """Counted by hand: along each row, and up to the next row two for each atom but one at the end."""
    return rows * (columns - 1) + (rows - 1) * (2 * columns - 1)


def atoms(x, ids=None, types=None):
    n = len(x)
    ids = np.arange(1, n + 1, dtype="i4") if ids is None else ids
    return xr.Dataset({"x": field(x, ["atom", "xyz"]), "id": field(ids, ["atom"]),
                       "type": field(np.ones(n, "i4") if types is None else types, ["atom"])},
                      coords={"atom_rank": ("atom", np.zeros(n, "i4"))})


def test_the_grid_of_cells_finds_the_pairs_of_the_double_loop():
    for seed, dimensions in ((1, 2), (2, 3), (3, 3)):
        x = np.random.default_rng(seed).random((200, dimensions)) * [7, 5, 2][:dimensions] - 3
        pairs, lengths = bonds.close_pairs(x, 0.9)
        distance = np.linalg.norm(x[:, None] - x[None], axis=2)
        expected = {(a, b) for a, b in zip(*np.nonzero(distance < 0.9)) if a < b}
        assert len(pairs) == len(expected) > 100 and {tuple(sorted(p)) for p in pairs} == expected
        assert np.allclose(lengths, distance[tuple(pairs.T)])


def test_the_bonds_of_a_lattice_are_its_nearest_neighbours():
    x = lattice(12, 8)
    pairs, lengths, spacing = bonds.first_bonds(x, np.ones(len(x)))
    assert len(pairs) == bonds_of_lattice(12, 8) == 249
    assert spacing == pytest.approx(1.114) and lengths == pytest.approx(1.114, rel=1e-6)


def test_a_crack_through_a_lattice_breaks_the_bonds_that_cross_it():
    x, ctx = lattice(12, 8), Context()
    bonds.process(atoms(x), ctx)
    assert ctx.scalars == {"broken_bonds": 0} and not ctx.stored["broken"].any()
    upper = np.arange(len(x)) >= 4 * 12  # the rows from the fifth on
    ctx.next(1)
    bonds.process(atoms(x + np.outer(upper, [0, 2.0, 0])), ctx)
    assert ctx.scalars == {"broken_bonds": 2 * 12 - 1}
    broken = ctx.stored["broken"].reshape(8, 12)
    assert broken[3].tolist() == [2] * 11 + [1] and broken[4].tolist() == [1] + [2] * 11  # the ends have one neighbour
    assert not broken[:3].any() and not broken[5:].any()
    assert png(ctx.images["crack"])


def test_slip_by_one_place_breaks_one_bond_of_each_atom_along_it():
    x, ctx = lattice(12, 8), Context()
    bonds.process(atoms(x), ctx)
    upper = np.arange(len(x)) >= 4 * 12
    bonds.process(atoms(x + np.outer(upper, [1.114, 0, 0])), ctx)
    broken = ctx.stored["broken"].reshape(8, 12)
    assert ctx.scalars == {"broken_bonds": 11}
    assert broken[3].tolist() == [1] * 11 + [0] and broken[4].tolist() == [0] + [1] * 11


def test_a_bond_is_broken_beyond_one_and_a_half_times_its_length_and_may_heal():
    x, ctx = np.array([[0, 0, 0], [1, 0, 0], [0.5, 0.8, 0]]), Context()
    bonds.process(atoms(x), ctx)
    for pull, expected in ((1.49, 0), (1.51, 1), (1.0, 0)):
        moved = x.copy()
        moved[1, 0] = pull
        moved[2] = [pull / 2, 0.8, 0]  # in the middle, near both
        bonds.process(atoms(moved), ctx)
        assert ctx.scalars["broken_bonds"] == expected


def test_atoms_may_come_in_any_order():
    x, rng, ctx, other = lattice(12, 8), np.random.default_rng(1), Context(), Context()
    ids = rng.permutation(len(x)).astype("i4") * 3 + 5  # with gaps
    for step in range(3):
        moved, order = x * [1, 1 + 0.4 * step, 1], rng.permutation(len(x))
        bonds.process(atoms(moved, ids), ctx)
        bonds.process(atoms(moved[order], ids[order]), other)
        other.state = pickle.loads(pickle.dumps(other.state))
        assert ctx.scalars == other.scalars
        for name in ("id", "broken"):
            assert np.array_equal(ctx.stored[name], other.stored[name])
    assert ctx.scalars["broken_bonds"] > 0


def test_the_notch_of_the_deck_is_cut_and_not_broken():
    x = lattice(12, 8)
    types = np.ones(len(x), "i4").reshape(8, 12)
    types[4:, :5], types[:4, :5] = 2, 3
    pairs, _, _ = bonds.first_bonds(x, types.ravel())
    crossing = 2 * 5 - 1  # bonds between the five left atoms of the two rows
    assert len(pairs) == bonds_of_lattice(12, 8) - crossing


def test_bonds_of_an_atom_that_is_missing_do_not_count():
    x, ctx = lattice(12, 8), Context()
    bonds.process(atoms(x), ctx)
    there = np.arange(len(x)) != 11  # the last of the first row; the next id is far away
    bonds.process(atoms(x[there], np.arange(1, len(x) + 1, dtype="i4")[there]), ctx)
    assert ctx.scalars == {"broken_bonds": 0} and len(ctx.stored["broken"]) == len(x) - 1


def test_the_state_of_the_crack_run_is_small():
    x, ctx = lattice(100, 81), Context()
    bonds.process(atoms(x), ctx)
    assert len(pickle.dumps(ctx.state)) < 40 * len(x)


# --- all of them ---

SCRIPTS = [str(p.relative_to(EXAMPLES)) for p in [*EXAMPLES.glob("analysis/*.py"), *EXAMPLES.glob("*/analysis/*.py")]]


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_script_keeps_out_of_pyplot_and_has_a_function_for_leat(path):
    assert not re.search("import.*pyplot", (EXAMPLES / path).read_text())
    assert callable(load(path).process)


def test_there_are_scripts():
    assert len(SCRIPTS) >= 4


# --- docs/how-to/analyse-with-python.md ---

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/analyse-with-python.md").read_text()


def plate(iteration):
    values = field(300 + iteration + np.arange(12.0).reshape(3, 4), units="K", long_name="of the plate")
    return xr.Dataset({"temperature": values, "stats/temperature_max": values.max()}, attrs={"iteration": iteration, "simulation": "heat"})


EXPECTED = [  # of each function on the page, after iterations 0 to 5
    {"t_max": 316}, {"mean_of_left_edge": 309}, {"t_mean": 310.5}, {"hottest_so_far": 316}, {"change_in_5": 4},
    {"furthest": 5}, {"hot_cells": 4}, {"t_mean_of_run": 310.5, "cells": 12}, {"t_max": 316}, {}]


@pytest.mark.parametrize("code, expected", list(zip(re.findall(r"```python\n(.*?)```", PAGE, re.S), EXPECTED, strict=True)))
def test_a_function_of_the_page_does_what_the_page_says(code, expected, tmp_path):
    (tmp_path / "page.py").write_text(code)
    script, ctx = load(tmp_path / "page.py"), Context()
    (function,) = [f for f in vars(script).values() if getattr(f, "__module__", "") == script.__name__]
    ctx.parameters["heating"] = 1.0
    for iteration in range(6):
        ctx.next(iteration)
        x = np.arange(30.0).reshape(10, 3) + [iteration, 0, 0]
        order = np.random.default_rng(iteration).permutation(10)
        data = plate(iteration) if "temperature" in code else atoms(x[order], np.arange(10)[order])
        ctx.past.append(data)
        function(data, ctx)
    assert ctx.scalars == pytest.approx(expected)
    assert all(png(figure) for figure in ctx.images.values() if not isinstance(figure, np.ndarray))
    if '"t_mean"' in code:
        assert list(ctx.stored) == ["profile"] and list(ctx.images) == ["temperature", "profile"]
    if "ctx.set" in code:
        assert ctx.was_set == {} and not function(plate(80), ctx) and ctx.was_set == {"heating": 0.0}
    if "ctx.log" in code:
        assert ctx.log_lines[-1] == "iteration 5 of heat: 3 x 4 values in K"
