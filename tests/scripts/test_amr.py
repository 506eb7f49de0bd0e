# SPDX-License-Identifier: Apache-2.0
"""Scripts see of which level the patches of an amr mesh are, and where, in a run and in `leat replay` of its file."""
import csv

import h5py
import numpy as np
from leat_run import data
from script_run import config, put, script_run, table
from test_replay import replay

RANKS, ITERATIONS = 2, 4
DATA = '''<mesh name="gas" type="amr" levels="3" spacing="1,1"/>
<layout name="patch" type="double" dimensions="4,4" ghosts="1,1" names="y,x"/><variable name="u" layout="patch" mesh="gas"/>
<layout name="any" type="int" dimensions="?,?"/><variable name="n" layout="any" mesh="gas"/>
<layout name="other" type="int" dimensions="3" names="k"/><variable name="other" layout="other"/>'''

# A column for each block, made of what the dataset says, and of what ctx.blocks says.
LOOK = """
import leat

@leat.on_iteration(arrays="{kind}")
def look(ds, ctx):
    coords = {{name: ds.coords[name][1] for name in ds.coords}} if "{kind}" == "numpy" else {{c: ds[c].values for c in ds.coords}}
    level, lo = coords["block_level"], coords["block_lo"]
    assert lo.shape == (len(level), 2) and level.tolist() == sorted(level.tolist()), (level, lo)
    if "{kind}" == "xarray":
        assert ds["u"].dims == ("block", "y", "x") and ds["block_lo"].dims == ("block", "axis"), ds
        assert ds["u"].where(ds["block_level"] == 1, drop=True).sizes["block"] == (level == 1).sum()
    assert "other_block_level" not in coords and "other_block_lo" not in coords, coords
    for i, (rank, number) in enumerate(zip(coords["block_rank"], coords["block_number"])):
        ctx.scalar(f"ds{{rank}}_{{number}}", 10000 * level[i] + 100 * lo[i][0] + lo[i][1])
        ctx.scalar(f"u{{rank}}_{{number}}", float(ds["u"][i][0][0]))
    for block in ctx.blocks("u"):
        ctx.scalar(f"u{{block.rank}}_{{block.block}}_", 10000 * block.level + 100 * block.position[0] + block.position[1])
    for block in ctx.blocks("n"):
        ctx.scalar(f"n{{block.rank}}_{{block.block}}_", 10000 * block.level + 100 * block.position[0] + block.position[1])
    for level in (0, 1, 2):
        ctx.scalar(f"n_of_{{level}}", int(ds["n"][coords["block_element_level"] == level].sum()))
    assert all(block.level is None and block.position is None for block in ctx.blocks("other"))
"""


def patches(rank, iteration):
    """{block: (level, place)} of a rank; one patch in all of the first iteration."""
    if iteration == 0:
        return {3: (1, (2, 7))} if rank == 1 else {}
    return {block: ((iteration + block + rank) % 3, (4 * block, iteration + 10 * rank)) for block in range(4) if block != iteration}


def write_all(run):
    for iteration in range(ITERATIONS):
        for rank in run.ranks:
            for block, (level, place) in patches(rank.number, iteration).items():
                rank.must("set_level", "gas", block, level, "{},{}".format(*place))
                rank.must("write", "u", block, 128, 100 * iteration + 10 * rank.number + block)
                rank.must("set_extent", "n", block, f"{block},2")
                rank.must("write", "n", block, 8 * block, iteration)
            rank.must("write", "other", 0, 12, iteration)
            rank.end()


def add_levels(path):
    """As the hdf5 store says them."""
    with h5py.File(path, "r+") as file:
        for name in ("u", "n"):
            block = file[name].attrs["leat_blocks"].decode()
            if f"{block}_level" in file:
                continue
            said = [patches(int(r), int(i))[int(n)]
                    for r, n, i in zip(*(file[f"{block}_{each}"] for each in ("rank", "number", "iteration")))]
            file[f"{block}_level"] = np.array([level for level, _ in said], "i4")
            file[f"{block}_lo"] = np.array([place for _, place in said], "i8")


def test_blocks_of_an_amr_mesh_have_their_level_and_place_in_a_run_and_in_its_replay(tmp_path):
    for kind in ("xarray", "numpy"):
        put(tmp_path, kind, LOOK.format(kind=kind))
    with script_run(tmp_path, config(DATA), ranks=RANKS) as run:
        write_all(run)
    assert "Traceback" not in run.log(), run.log()
    for kind in ("xarray", "numpy"):
        rows = table(tmp_path, kind)
        assert len(rows) == ITERATIONS
        for iteration, row in enumerate(rows):
            seen = {name: float(text) for name, text in row.items() if text and name[0] in "du" and name[-1].isdigit()}
            wanted, sums = {}, [0, 0, 0]
            for rank in range(RANKS):
                for block, (level, (y, x)) in patches(rank, iteration).items():
                    place = 10000 * level + 100 * y + x
                    assert float(row[f"u{rank}_{block}_"]) == float(row[f"n{rank}_{block}_"]) == place
                    wanted[f"ds{rank}_{block}"] = place
                    wanted[f"u{rank}_{block}"] = data(16, "f8", 100 * iteration + 10 * rank + block)[5]
                    sums[level] += int(data(2 * block, "i4", iteration).astype("i8").sum())
            assert seen.keys() == wanted.keys() and all(np.array_equal(seen[k], wanted[k], equal_nan=True) for k in wanted), (seen, wanted)
            assert [int(row[f"n_of_{level}"]) for level in range(3)] == sums
    add_levels(tmp_path / "run.h5")
    replay(tmp_path, "run.h5", "analysis/xarray.py", "analysis/numpy.py", "--output", tmp_path / "out")
    for kind in ("xarray", "numpy"):
        with open(tmp_path / "out" / f"{kind}.csv", newline="") as file:
            assert list(csv.DictReader(file)) == table(tmp_path, kind)


def test_patches_of_another_mesh_have_levels_of_their_own(tmp_path):
    put(tmp_path, "look", """
        def process(ds, ctx):
            assert ds["n"].sizes["block_element"] == ds["m"].sizes["m_element"] == 6, ds
            assert ds["block_element_level"].values.tolist() == [1] * 4 + [2] * 2 and ds["m_element_level"].values.tolist() == [0] * 6
            assert ds["u"].dims[0] == "block" and ds["w"].dims[0] == "w_block", ds
            assert ds["block_level"].values.tolist() == [1, 2] and ds["w_block_level"].values.tolist() == [0, 0]
            ctx.scalar("blocks", ds.sizes["block"])
        """)
    more = ('<mesh name="dust" type="amr" spacing="1,1"/><variable name="m" layout="any" mesh="dust"/>'
            '<variable name="w" layout="patch" mesh="dust"/>')
    with script_run(tmp_path, config(DATA + more)) as run:
        (rank,) = run.ranks
        for block, (level, rows) in enumerate([(2, 1), (1, 2)]):
            rank.must("set_level", "gas", block, level, "4,4")
            rank.must("set_level", "dust", block, 0, f"{8 * block},0")
            for name in ("n", "m"):
                rank.must("set_extent", name, block, f"{rows},2")
                rank.must("write", name, block, 8 * rows, block)
            for name in ("u", "w"):
                rank.must("write", name, block, 128, block)
        rank.end()
    assert "Traceback" not in run.log() and len(table(tmp_path, "look")) == 1, run.log()
