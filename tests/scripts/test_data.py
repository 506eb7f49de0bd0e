# SPDX-License-Identifier: Apache-2.0
"""What a script gets, and where what it makes goes: bit for bit."""
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from leat_run import BUILD, data, same_bits
from script_run import ROW, SIZE, config, put, script_run, table, write_iterations

GRID = ('<layout name="g" type="float" dimensions="5,7" global="6,5" ghosts="1:1,1" names="y,x"/>'
        '<group name="fields"><variable name="t" layout="g" unit="K" description="temperature"/></group>')


def test_a_field_of_several_ranks_is_global_labelled_and_without_ghosts(tmp_path):
    put(tmp_path, "look", """
        def process(ds, ctx):
            t = ds["fields/t"]
            assert t.dims == ("y", "x") and t.shape == (6, 5) and t.dtype == "f4", t
            assert t.attrs == {"units": "K", "long_name": "temperature"}, t.attrs
            assert ds.attrs == {"simulation": "run", "iteration": ctx.iteration, "complete": 1}, ds.attrs
            assert int(ds.iteration) == ctx.iteration
            ctx.store("copy", t)
        """)
    with script_run(tmp_path, config(GRID), ranks=2) as run:
        for number in range(3):
            for rank in run.ranks:
                rank.must("set_position", "fields/t", 0, f"{3 * rank.number},0")
                rank.must("write", "fields/t", 0, 140, 10 * number + rank.number)
                rank.end()
    assert "Traceback" not in run.log(), run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        group = file["scripts/look"]
        assert group["iteration"][:].tolist() == [0, 1, 2]
        for number in range(3):
            whole = np.concatenate([data(35, "f4", 10 * number + r).reshape(5, 7)[1:-1, 1:-1] for r in range(2)])
            assert same_bits(group["copy"][number], whole) and same_bits(file["fields/t"][number], whole)
        assert group["copy"].attrs["units"] == b"K"
        assert [dim[0].name.split("/")[-1] for dim in group["copy"].dims] == ["iteration", "y", "x"]


def test_one_block_comes_as_a_read_only_view_without_a_copy(tmp_path):
    put(tmp_path, "look", """
        import mmap
        def process(ds, ctx):
            a = ds["a"].values
            base = a
            while getattr(base, "base", None) is not None:
                base = base.base
            assert isinstance(base, (mmap.mmap, memoryview)), type(base)
            assert not a.flags.writeable
            try:
                a.setflags(write=True)
            except ValueError:
                ctx.scalar("sum", a.view("u1").astype(int).sum())
        """)
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(3))
    assert [int(row["sum"]) for row in table(tmp_path, "look")] == [
        int(data(SIZE, "u1", n).astype(int).sum()) for n in range(3)], run.log()


def test_without_xarray_the_arrays_come_in_a_mapping(tmp_path):
    put(tmp_path, "look", """
        import leat, numpy
        @leat.on_iteration(arrays="numpy")
        def f(arrays, ctx):
            assert type(arrays["a"]) is numpy.ndarray and list(arrays) == ["a"]
            assert arrays.units["a"] == "K" and arrays.attrs["iteration"] == ctx.iteration
            ctx.store("copy", arrays["a"], dims=["x"], units="K")
        """)
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(2))
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["scripts/look/copy"][1], data(8, "f8", 1)), run.log()


def test_particles_come_as_one_array_with_the_rank_of_each(tmp_path):
    particles = ('<layout name="p" type="float" dimensions="?,3" names="atom,xyz"/><variable name="x" layout="p"/>'
                 '<layout name="n" type="int" dimensions="?" names="atom"/><variable name="id" layout="n"/>')
    put(tmp_path, "look", """
        def process(ds, ctx):
            assert ds.x.dims == ("atom", "xyz") and ds.id.dims == ("atom",)
            ctx.store("x", ds.x)
            ctx.store("id", ds["id"])
            ctx.store("rank", ds.atom_rank)
        """)
    counts = {0: (2, 3), 1: (0, 4), 2: (5, 0)}
    with script_run(tmp_path, config(particles), ranks=2) as run:
        for number, of_ranks in counts.items():
            for rank, n in zip(run.ranks, of_ranks):
                rank.must("set_extent", "x", 0, f"{n},3")
                rank.must("write", "x", 0, 12 * n, 10 * number + rank.number)
                rank.must("set_extent", "id", 0, f"{n}")
                rank.must("write", "id", 0, 4 * n, 50 + 10 * number + rank.number)
                rank.end()
    assert "Traceback" not in run.log(), run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        group = file["scripts/look"]
        for number, of_ranks in counts.items():
            total = sum(of_ranks)
            wanted = np.concatenate([data(3 * n, "f4", 10 * number + r).reshape(n, 3) for r, n in enumerate(of_ranks)])
            assert same_bits(group["x"][number][:total], wanted)
            assert group["rank"][number][:total].tolist() == [r for r, n in enumerate(of_ranks) for _ in range(n)]


def test_cells_of_blocks_that_vary_in_each_dimension_select_each_other(tmp_path):
    put(tmp_path, "look", """
        def process(ds, ctx):
            assert ds.u.dims == ds.v.dims == ("block_element",), ds
            chosen = int(ds.v[4])
            picked = ds.u.where(ds.v == chosen, drop=True)
            assert picked.dims == ("block_element",) and picked.values[0] == ds.u.values[4]
            ctx.scalar("seen", 1)
        """)
    cells = '<layout name="c" type="int" dimensions="?,?" names="y,x"/><variable name="u" layout="c"/><variable name="v" layout="c"/>'
    with script_run(tmp_path, config(cells), ranks=2) as run:
        for rank in run.ranks:
            for name, seed in (("u", 1), ("v", 2)):
                rank.must("set_extent", name, 0, f"{2 + rank.number},3")
                rank.must("write", name, 0, 12 * (2 + rank.number), seed + rank.number)
            rank.end()
    assert "Traceback" not in run.log() and len(table(tmp_path, "look")) == 1, run.log()


def test_fixed_blocks_of_several_ranks_are_stacked(tmp_path):
    put(tmp_path, "look", """
        def process(ds, ctx):
            assert ds.a.dims == ("block", "x") and ds.block_rank.values.tolist() == [0, 1, 2]
            ctx.store("a", ds.a)
        """)
    with script_run(tmp_path, config(), ranks=3) as run:
        write_iterations(run, range(1))
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["scripts/look/a"][0], np.stack([data(8, "f8", 100 * r) for r in range(3)])), run.log()


def test_blocks_and_fields_have_the_sizes_of_their_iteration(tmp_path):
    """Of layouts that vary with their parameters, in a run and in a replay."""
    varying = """<parameter name="n" type="int"/><parameter name="all" type="int"/>
      <layout name="g" type="double" dimensions="n+2" global="all" ghosts="1:1" varying="true" names="x"/><variable name="u" layout="g"/>
      <layout name="b" type="int" dimensions="n,2" varying="true" names="k,l"/><variable name="b" layout="b"/>"""
    put(tmp_path, "look", """
        import numpy as np
        def process(ds, ctx):
            own = [each.data for each in ctx.blocks("b")]
            assert ds.u.dims == ("x",) and ds.b.dims == ("block", "k", "l") and ds.b.shape[1] == max(map(len, own))
            for place, part in zip(ds.b.values, own):
                assert place[:len(part)].tobytes() == part.tobytes() and (place[len(part):] == np.iinfo("i4").min).all()
            with open("seen.bin", "ab") as seen:
                seen.write(ds.u.values.tobytes() + b"".join(part.tobytes() for part in own))
            ctx.scalar("cells", ds.u.size)
        """)
    sizes, seen = [4, 9, 2, 0, 7], b""
    with script_run(tmp_path, config(varying), ranks=2) as run:
        for number, size in enumerate(sizes):
            for rank in run.ranks:
                rank.must("set_int", "n", size + rank.number)
                rank.must("set_int", "all", 2 * size + 1)
                rank.must("set_position", "u", 0, rank.number * size)
                rank.must("write", "u", 0, 8 * (size + rank.number + 2), 10 * number + rank.number)
                rank.must("write", "b", 0, 8 * (size + rank.number), 100 + 10 * number + rank.number)
                rank.end()
            seen += b"".join(data(size + r + 2, "f8", 10 * number + r)[1:-1].tobytes() for r in range(2))
            seen += b"".join(data(2 * (size + r), "i4", 100 + 10 * number + r).tobytes() for r in range(2))
    assert (tmp_path / "seen.bin").read_bytes() == seen, run.log()
    (tmp_path / "seen.bin").unlink()
    again = subprocess.run([BUILD / "bin" / "leat", "replay", "run.h5", "analysis/look.py", "--interpreter", sys.executable], cwd=tmp_path,
                           capture_output=True, text=True)
    assert again.returncode == 0 and (tmp_path / "seen.bin").read_bytes() == seen, again.stdout + again.stderr


def test_raw_blocks_have_rank_place_and_ghosts(tmp_path):
    put(tmp_path, "look", """
        def process(ds, ctx):
            inner = ctx.blocks("fields/t")
            outer = ctx.blocks("fields/t", include_ghosts=True)
            assert [b.rank for b in outer] == [0, 1] and [b.position for b in outer] == [(0, 0), (3, 0)]
            assert outer[0].extent == (5, 7) and outer[0].ghosts == ((1, 1), (1, 1))
            assert inner[0].data.shape == (3, 5)
            ctx.store("outer", outer[1].data)
        """)
    with script_run(tmp_path, config(GRID), ranks=2) as run:
        for rank in run.ranks:
            rank.must("set_position", "fields/t", 0, f"{3 * rank.number},0")
            rank.must("write", "fields/t", 0, 140, rank.number)
            rank.end()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["scripts/look/outer"][0], data(35, "f4", 1).reshape(5, 7)), run.log()


def test_ghosts_of_blocks_without_a_place_are_left_out_too(tmp_path):
    layouts = ('<layout name="b" type="double" dimensions="6" ghosts="1:2" names="x"/><variable name="b" layout="b"/>'
               '<layout name="l" type="double" dimensions="?" ghosts="1:0" names="n"/><variable name="l" layout="l"/>')
    put(tmp_path, "look", """
        def process(ds, ctx):
            assert ctx.blocks("b", include_ghosts=True)[0].data.shape == (6,)
            ctx.store("b", ds.b)
            ctx.store("l", ds.l)
        """)
    with script_run(tmp_path, config(layouts), ranks=2) as run:
        for rank in run.ranks:
            rank.must("set_extent", "l", 0, "4")
            rank.must("write", "b", 0, 48, rank.number)
            rank.must("write", "l", 0, 32, 10 + rank.number)
            rank.end()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["scripts/look/b"][0], np.stack([data(6, "f8", r)[1:4] for r in range(2)])), run.log()
        assert same_bits(file["scripts/look/l"][0], np.concatenate([data(4, "f8", 10 + r)[1:] for r in range(2)]))
        assert same_bits(file["b"][:], file["scripts/look/b"][0]) and same_bits(file["l"][:], file["scripts/look/l"][0])


def test_what_does_not_vary_in_time_is_there_at_each_iteration(tmp_path):
    constant = ROW + '<variable name="x" layout="row" time-varying="false" unit="m"/>'
    put(tmp_path, "look", """
        def process(ds, ctx):
            ctx.scalar("x3", float(ds["x"].values[3]))
            assert ds.a.coords["x"].attrs["units"] == "m"
        """)
    with script_run(tmp_path, config(constant)) as run:
        run.ranks[0].must("write", "x", 0, SIZE, 7)
        write_iterations(run, range(4))
    assert [float(row["x3"]) for row in table(tmp_path, "look")] == [data(8, "f8", 7)[3]] * 4, run.log()


def test_parameters_are_those_of_the_iteration_and_time_is_a_coordinate(tmp_path):
    parameters = ROW + '<parameter name="time" type="double"/><parameter name="n" type="int" value="3"/>'
    put(tmp_path, "look", """
        def process(ds, ctx):
            assert ctx.parameters["n"] == 3
            ctx.scalar("t", float(ds.time))
        """)
    with script_run(tmp_path, config(parameters)) as run:
        for number in range(5):
            run.ranks[0].must("set_double", "time", 0.25 * number)
            write_iterations(run, [number])
    assert [float(row["t"]) for row in table(tmp_path, "look")] == [0, 0.25, 0.5, 0.75, 1.0], run.log()


def test_every_and_variables_choose_the_calls(tmp_path):
    two = ROW + '<variable name="b" layout="row"/>'
    put(tmp_path, "look", """
        import leat
        @leat.on_iteration(variables=["a"], every=3)
        def thirds(ds, ctx):
            assert list(ds.data_vars) == ["a"]
            ctx.scalar("third", 1)
        @leat.on_iteration(variables=["a", "b"])
        def both(ds, ctx):
            ctx.scalar("both", 1)
        """)
    with script_run(tmp_path, config(two)) as run:
        for number in range(7):
            if number % 2:
                run.ranks[0].must("write", "b", 0, SIZE, number)
            write_iterations(run, [number])
    got = {int(row["iteration"]): (row["third"], row["both"]) for row in table(tmp_path, "look")}
    assert got == {0: ("1", ""), 1: ("", "1"), 3: ("1", "1"), 5: ("", "1"), 6: ("1", "")}, run.log()


def test_scalars_pictures_and_arrays_land_where_they_are_looked_for(tmp_path):
    put(tmp_path, "make", """
        import numpy as np
        def process(ds, ctx):
            ctx.scalar("i", ctx.iteration)
            if ctx.iteration == 1:
                ctx.scalar("late", np.float32(0.1))
            ctx.image("array", np.arange(12.0).reshape(3, 4))
            from matplotlib.figure import Figure
            figure = Figure()
            figure.add_subplot().plot([1, 2])
            ctx.image("figure", figure)
            ctx.store("vector", np.full(2 + ctx.iteration, ctx.iteration, "i2"), dims=["n"])
        """)
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(3))
    assert [list(row.values()) for row in table(tmp_path, "make")] == [
        ["0", "0", ""], ["1", "1", "0.10000000149011612"], ["2", "2", ""]], run.log()
    for name in ("array", "figure"):
        for number in range(3):
            picture = (tmp_path / f"run-scripts/make/{name}-00000{number}.png").read_bytes()
            assert picture.startswith(b"\x89PNG") and picture.endswith(b"IEND\xaeB`\x82")
        assert os.readlink(tmp_path / f"run-scripts/make/latest-{name}.png") == f"{name}-000002.png"
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["scripts/make/i"][:].tolist() == [0, 1, 2]
        late = file["scripts/make/late"][:]
        assert late[1] == np.float32(0.1) and np.isnan(late[[0, 2]]).all()
        assert file["scripts/make/vector"][2].tolist() == [2, 2, 2, 2]


def test_the_last_iterations_can_be_kept_and_are_copies(tmp_path):
    put(tmp_path, "look", """
        def process(ds, ctx):
            last = ctx.window(3)
            ctx.scalar("n", len(last))
            ctx.scalar("first", float(last[0].a[0]))
            ctx.scalar("last", float(last[-1].a[0]))
        """)
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(5))
    value = [data(8, "f8", n)[0] for n in range(5)]
    got = [(int(r["n"]), float(r["first"]), float(r["last"])) for r in table(tmp_path, "look")]
    assert np.array_equal(got, [(min(n, 2) + 1, value[max(0, n - 2)], value[n]) for n in range(5)], equal_nan=True), run.log()


@pytest.mark.parametrize("number", [1, 2])
def test_an_array_kept_beyond_its_call_is_named_and_keeps_its_numbers(tmp_path, number):
    put(tmp_path, "keep", f"""
        kept = []
        def process(ds, ctx):
            if ctx.iteration == {number}:
                kept.append(ds.a.values[2:])
                kept.append(ds)
            if ctx.iteration > {number}:
                ctx.scalar("kept", float(kept[0][0]))
                try:
                    kept[1].a.mean()
                except Exception as error:
                    ctx.log(type(error).__name__, error)
        """)
    with script_run(tmp_path, config(buffer="1MiB")) as run:
        write_iterations(run, range(60))
    assert f'keeps an array of "a" of iteration {number} beyond its call' in run.log()
    assert f'ExpiredError "a" of iteration {number} was used after the call' in run.log()
    values = {float(row["kept"]) for row in table(tmp_path, "keep")}
    assert values == {data(8, "f8", number)[2]}, run.log()


def test_results_do_not_change_the_data(tmp_path):
    """The same run with and without scripts: what is stored is the same, bit for bit."""
    stored = {}
    for name in ("without", "with"):
        folder = tmp_path / name
        folder.mkdir()
        put(folder, "make", "def process(ds, ctx):\n    ctx.scalar('m', float(ds.a.max()))\n    ctx.store('b', 2 * ds.a)\n")
        text = config() if name == "with" else config().split("<scripts")[0] + "</simulation>"
        with script_run(folder, text, ranks=2) as run:
            write_iterations(run, range(20))
        with h5py.File(folder / "run.h5") as file:
            stored[name] = {key: file[key][:] for key in ("a", "block_rank", "block_iteration", "iteration", "leat/iteration_complete")}
    assert stored["with"].keys() == stored["without"].keys()
    assert all(same_bits(stored["with"][key], stored["without"][key]) for key in stored["with"])
