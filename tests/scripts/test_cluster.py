# SPDX-License-Identifier: Apache-2.0
"""@leat.on_iteration(arrays="dask", scope="run"): arrays over all servers, called once, with the values that ranks wrote."""
import re

import h5py
import numpy as np
import pytest
from cluster_run import HEIGHT, WIDTH, ClusterRun, interpreter_with, rows_of, whole
from leat_run import same_bits

MEAN = """
    import leat

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def mean(ds, ctx):
        u = ds["u"]
        ctx.scalar("rows", u.shape[0])
        ctx.scalar("chunks", u.data.npartitions)
        ctx.scalar("largest", float(u.max().compute()))
        ctx.store("profile", u.mean("y").compute())
        ctx.store("all", u.compute())
"""


@pytest.mark.parametrize("nodes", [[[0]], [[0], [1]], [[0, 1], [2, 3]], [[0], [1], [2], [3]]])
@pytest.mark.parametrize("dask", ["Debian", "PyPI"])
def test_a_script_has_the_whole_field(tmp_path, nodes, dask):
    ranks = sum(map(len, nodes))
    with ClusterRun(tmp_path, nodes, MEAN, interpreter=interpreter_with(dask)) as run:
        run.init()
        for i in range(4):
            run.step(i)
        run.finish()
        assert "fail" not in run.log(), run.log()
    rows = rows_of(tmp_path)
    assert sorted(rows) == [0, 1, 2, 3]
    for i, row in rows.items():
        assert int(row["rows"]) == 8 * ranks and int(row["chunks"]) == len(nodes)
        assert np.float64(row["largest"]) == whole(i, ranks).max()
    stored = {}
    for path in [*tmp_path.glob("run.h5"), *tmp_path.glob("run.parts/*/*.h5")]:
        with h5py.File(path) as file:
            if "scripts/of_run/all" in file:
                group = file["scripts/of_run"]
                stored.update(zip(group["iteration"][:].tolist(), zip(group["all"][:], group["profile"][:])))
    assert sorted(stored) == [0, 1, 2, 3]
    for i, (everything, profile) in stored.items():
        assert same_bits(everything, whole(i, ranks))
        with np.errstate(over="ignore"):
            assert np.allclose(profile, whole(i, ranks).mean(axis=0), rtol=1e-12, equal_nan=True)


def test_iterations_are_waited_for_and_none_is_left_out(tmp_path):
    with ClusterRun(tmp_path, [[0], [1]], MEAN.replace("u = ds", "import time; time.sleep(0.1); u = ds"), skip=True) as run:
        run.init()
        for i in range(8):
            run.step(i)
        run.finish()
    assert sorted(rows_of(tmp_path)) == list(range(8))


USING = """
    import leat
    from dask.distributed import default_client

    def chunks(dask_scheduler):
        return sum("leat-chunk-" in str(key) for key in dask_scheduler.tasks)

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def use(ds, ctx):
        ctx.scalar("before", default_client().run_on_scheduler(chunks))
        if ctx.iteration == 1:
            return
        ctx.scalar("largest", float(ds["u"].max().compute()))
        ctx.scalar("after", default_client().run_on_scheduler(chunks))

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def leave(ds, ctx):
        if ctx.iteration == 2:
            leave.array.max().compute()
        leave.array = ds["u"].data
"""


@pytest.mark.parametrize("dask", ["Debian", "PyPI"])
def test_the_scheduler_hears_of_chunks_when_they_are_used_and_not_after_the_call(tmp_path, dask):
    with ClusterRun(tmp_path, [[0, 1], [2]], USING, interpreter=interpreter_with(dask), attributes='failures="10"') as run:
        run.init()
        for i in range(3):
            run.step(i)
        run.finish()
        assert re.search('script "of_run", iteration 2: (.*\\n)+.*ExpiredError: "u" was asked for after the call', run.log()), run.log()
        assert "serialize" not in run.log() and "1 time in 3 calls" in run.log(), run.log()
    rows = rows_of(tmp_path)
    assert [(row["before"], row["after"]) for row in rows.values()] == [("0", "2"), ("0", ""), ("0", "2")]
    assert all(np.float64(rows[i]["largest"]) == whole(i, 3).max() for i in (0, 2))


WRONG = """
    import leat

    @leat.on_iteration(variables=["u"], {words})
    def wrong(ds, ctx):
        {body}
"""


@pytest.mark.parametrize("words, body, said", [
    ('arrays="dask"', "pass", 'scope="run" and arrays="dask" go together'),
    ('arrays="numpy", scope="run"', "pass", 'scope="run" and arrays="dask" go together'),
    ('arrays="dask", scope="all"', "pass", '"node" or "run" is expected'),
    ('arrays="dask", scope="run"', "ctx.reduce(1.0, 'sum')", "is not of functions of the whole run"),
    ('arrays="dask", scope="run"', "ctx.blocks('u')", "is not of functions of the whole run"),
    ('arrays="dask", scope="run"', "ctx.window(2)", "is not of functions of the whole run"),
    ('arrays="dask", scope="run"', "ds['u'].map_blocks(lambda u: 1 / 0).compute() if hasattr(ds['u'], 'map_block') else 1 / 0",
     "ZeroDivisionError"),
])
def test_what_cannot_be_is_an_error_with_a_reason(tmp_path, words, body, said):
    with ClusterRun(tmp_path, [[0], [1]], WRONG.format(words=words, body=body)) as run:
        run.init()
        run.step(0)
        run.finish()
        assert said in run.log(), run.log()
    assert rows_of(tmp_path) == {}


def test_without_dask_the_script_says_what_to_install(tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "distributed.py").write_text('raise ModuleNotFoundError("No module named distributed", name="distributed")\n')
    with ClusterRun(tmp_path, [[0], [1]], MEAN, environment={"PYTHONPATH": str(hidden)}) as run:
        run.init()
        run.step(0)
        run.finish()
        assert 'pip install "dask[distributed]"' in run.log(), run.log()


@pytest.mark.parametrize("chunks, shapes, copied", [("node", [16, 8], 16 * WIDTH * 8), ("block", [8, 8, 8], 0)])
def test_blocks_that_are_chunks_are_not_copied(tmp_path, chunks, shapes, copied):
    code = f"""
        import leat
        def copied():
            from leat.cluster import node
            return node.copied
        @leat.on_iteration(variables=["u"], arrays="dask", scope="run", chunks="{chunks}")
        def of_all(ds, ctx):
            from distributed import get_client
            assert [size for size in ds["u"].data.chunks[0]] == {shapes}, ds["u"].data.chunks
            ctx.scalar("sum", float(ds["u"].sum().compute()))
            ctx.scalar("copied", sum(get_client().run(copied).values()))
        """
    with ClusterRun(tmp_path, [[0, 1], [2]], code) as run:
        run.init()
        for number in range(2):
            run.step(number)
        run.finish()
        assert "failed" not in run.log(), run.log()
    rows = rows_of(tmp_path)
    assert [int(rows[i]["copied"]) for i in (0, 1)] == [copied, 2 * copied]
    assert all(np.isclose(float(rows[i]["sum"]), whole(i, 3).sum()) for i in (0, 1))


def say(run, event):
    path = run.folder / run.config
    path.write_text(path.read_text().replace("</simulation>", f"<actions>{event}</actions></simulation>"))


def test_an_event_of_the_run_calls_a_function_of_the_whole_run_once(tmp_path):
    code = """
        import leat
        @leat.on_event("look", variables=["u"], arrays="dask", scope="run")
        def of_all(ds, ctx):
            ctx.scalar("max", float(ds["u"].max().compute()))
        """
    run = ClusterRun(tmp_path, [[0, 1], [2]], code)
    say(run, '<event name="look" scope="run"/>')
    with run:
        run.init()
        for number in range(5):
            for rank in run.ranks:
                assert rank.write("u", HEIGHT * WIDTH * 8, 100 * number + rank.number).ok
                if number in (1, 3):
                    rank.must("signal", "look")
                rank.end()
        run.finish()
        assert "failed" not in run.log(), run.log()
    rows = rows_of(tmp_path)
    assert {i: float(row["max"]) for i, row in rows.items()} == {i: whole(i, 3).max() for i in (1, 3)}


def test_an_event_that_happens_on_one_server_alone_calls_no_function_of_the_run(tmp_path):
    code = """
        import leat
        @leat.on_event("look", arrays="dask", scope="run")
        def of_all(ds, ctx):
            pass
        """
    run = ClusterRun(tmp_path, [[0], [1]], code)
    say(run, '<event name="look" scope="node"/>')
    with run:
        run.init()
        run.step(0)
        run.finish()
        assert 'event "look" has scope="node"' in run.log() and 'Give it scope="run"' in run.log(), run.log()
