# SPDX-License-Identifier: Apache-2.0
"""@leat.on_iteration(arrays="dask", scope="run"): arrays over all servers, called once, with the values that ranks wrote."""
import numpy as np
import pytest
from cluster_run import ClusterRun, rows_of, whole

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
def test_a_script_has_the_whole_field(tmp_path, nodes):
    ranks = sum(map(len, nodes))
    with ClusterRun(tmp_path, nodes, MEAN) as run:
        run.init()
        for i in range(4):
            run.step(i)
        run.finish()
        print(run.log())
    rows = rows_of(tmp_path)
    assert sorted(rows) == [0, 1, 2, 3]
    for i, row in rows.items():
        assert int(row["rows"]) == 8 * ranks and int(row["chunks"]) == len(nodes)
        assert np.float64(row["largest"]) == whole(i, ranks).max()
