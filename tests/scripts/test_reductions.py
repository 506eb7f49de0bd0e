# SPDX-License-Identifier: Apache-2.0
"""ctx.reduce and ctx.gather: in a run of one server, in a replay, and what several servers make of it, with the same bits however
the data are divided among them."""
import os
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from script_run import ROW, config, put, rows, script_run, table, write_iterations

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../python-plugins"))
from leat.scripting import reductions  # noqa: E402


class Servers:
    """Several servers that reduce together, each in a thread. As leatd: what fits is made one, whatever the order."""

    def __init__(self, number):
        self.number, self._given, self._lock = number, {}, threading.Lock()
        self._meet = threading.Barrier(number)

    def each(self, call):
        """[call(reduction) of each server]"""
        made, errors = [None] * self.number, []

        def run(server):
            try:
                made[server] = call(server, reductions.Reduction(lambda what, columns: self._ask(server, what, columns)))
            except BaseException as error:
                errors.append(error)
                self._meet.abort()

        threads = [threading.Thread(target=run, args=[server]) for server in range(self.number)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        if errors:
            raise next((error for error in errors if not isinstance(error, threading.BrokenBarrierError)), errors[0])
        return made

    def _ask(self, server, what, columns):
        with self._lock:
            self._given[server] = (reductions.signature_of(what), columns)
        self._meet.wait()
        given = [self._given[each] for each in range(self.number)]
        self._meet.wait()
        assert len({signature for signature, _ in given}) == 1, "servers reduce other things"
        return {"gave": self.number, "columns": [_together([columns[i] for _, columns in given]) for i in range(len(columns))]}


def _together(columns):
    if isinstance(columns[0], reductions.Sums):
        exact = [sum((Fraction(float(term)) for column in columns for term in column.terms[i]), Fraction(0))
                 for i in range(len(columns[0].terms))]
        return np.array([float(each) for each in exact])
    values = np.array([column.values for column in columns])
    made = {"sum": values.sum, "min": values.min, "max": values.max}[columns[0].op](axis=0)
    return made.astype(values.dtype)


def divided(array, servers):
    return np.array_split(array, servers)


VALUES = np.random.default_rng(7).standard_normal(20_000) * 10.0 ** np.random.default_rng(8).integers(-12, 12, 20_000)


@pytest.mark.parametrize("op", ["sum", "min", "max", "mean"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i8"])
def test_a_reduction_of_blocks_has_the_same_bits_for_any_number_of_servers(op, dtype):
    values = (VALUES * (1e6 if dtype[0] == "i" else 1)).clip(-2**30, 2**30).astype(dtype)
    made = []
    for number in (1, 2, 3, 8):
        blocks = divided(values, number)
        made += Servers(number).each(lambda server, r, b=blocks: r.of(divided(b[server], 5)[::-1], op, None, None))
    assert len({each.tobytes() for each in made}) == 1
    exact = sum(map(Fraction, values.tolist()))
    expected = {"sum": exact, "min": values.min(), "max": values.max(), "mean": exact / len(values)}[op]
    if op == "mean":
        assert float(made[0]) == pytest.approx(float(expected), rel=3e-16)
    else:
        assert float(made[0]) == float(expected)
    assert made[0].dtype == ("f8" if op == "mean" or dtype[0] == "f" else "i8")


@pytest.mark.parametrize("range", [None, (-1.5, 1.5)])
def test_a_histogram_is_that_of_numpy_over_all_values(range):
    values = np.random.default_rng(3).standard_normal(30_000)
    counts, edges = np.histogram(values, 40, range)
    for number in (1, 3):
        for got in Servers(number).each(lambda server, r, n=number: r.of(divided(values, n)[server], "hist", 40, range)):
            assert (got[0] == counts).all() and (got[1] == edges).all() and got[0].dtype == "i8"
    got = Servers(2).each(lambda server, r: r.of(divided(values, 2)[server], "hist", [-1, 0, 2], None))
    assert (got[1][0] == np.histogram(values, [-1, 0, 2])[0]).all()


def test_numbers_that_are_none_are_in_no_bin_and_nothing_at_all_is_a_histogram_too():
    strange = np.array([np.nan, np.inf, 1.0, 2.0])
    counts, edges = Servers(1).each(lambda server, r: r.of(strange, "hist", 2, None))[0]
    assert counts.tolist() == [1, 1] and edges.tolist() == [1, 1.5, 2]
    counts, edges = Servers(1).each(lambda server, r: r.of(np.empty(0), "hist", 2, None))[0]
    assert counts.tolist() == [0, 0] and edges.tolist() == [0, 0.5, 1]


def test_arrays_are_reduced_element_by_element_and_keep_shape_and_kind():
    servers = Servers(3)
    whole = servers.each(lambda server, r: r.of(np.arange(6, dtype="u2").reshape(2, 3) + server, "sum", None, None))[1]
    assert whole.tolist() == [[3, 6, 9], [12, 15, 18]] and whole.dtype == "i8"
    real = servers.each(lambda server, r: r.of(np.float32([0.1, server]), "max", None, None))[2]
    assert real.tolist() == [np.float32(0.1), 2] and real.dtype == "f8"
    number = servers.each(lambda server, r: r.of(1 + server, "sum", None, None))[0]
    assert number == 6 and isinstance(number, np.int64)
    assert servers.each(lambda server, r: r.of([1.5, server], "min", None, None))[0].tolist() == [1.5, 0]


@pytest.mark.parametrize("value, op, others, why", [
    (1j, "sum", {}, "real and imaginary"), ([object()], "sum", {}, "numbers are expected"), (1.0, "median", {}, "min, max, mean, hist"),
    (1.0, "sum", {"bins": 3}, 'of "hist"'), (np.zeros(1 << 21), "sum", {}, "ctx.blocks(name)"), (1.0, "hist", {"bins": 0}, "bins=0"),
    (1.0, "hist", {"range": (2, 1)}, "lesser first"), (np.uint64(2**64 - 1), "max", {}, "int64"), (1.0, "hist", {"bins": [1, 1]}, "edges"),
    ([np.zeros(2), np.zeros(2, "i4")], "sum", {}, "whole numbers"), ([np.empty(0)], "min", {}, "no server has an element")])
def test_what_cannot_be_reduced_is_refused_with_a_reason(value, op, others, why):
    with pytest.raises(reductions.DoesNotFit) as refused:
        reductions.Reduction(lambda what, columns: reductions.OneServer().reduce("f", 0, columns)).of(
            value, op, others.get("bins"), others.get("range"))
    assert why in str(refused.value)


@pytest.mark.parametrize("op", ["sum", "min", "max", "mean"])
@pytest.mark.parametrize("kind", ["i4", "f8"])
@pytest.mark.parametrize("nothing", [[], (), [np.empty(0)]])
def test_a_server_without_blocks_changes_neither_the_number_nor_its_kind(op, kind, nothing):
    blocks = [np.array([3, 4], kind), np.array([[5, -7]], kind)]
    alone = Servers(1).each(lambda server, r: r.of(blocks, op, None, None))[0]
    for got in Servers(3).each(lambda server, r: r.of(blocks if server == 1 else nothing, op, None, None)):
        assert got == alone and got.dtype == alone.dtype == ("f8" if op == "mean" else np.dtype(kind[0] + "8")), got


def test_of_no_block_at_all_the_sum_is_0_and_there_is_no_least_one():
    made = Servers(2).each(lambda server, r: r.of([], "sum", None, None))
    assert made == [0, 0] and made[0].dtype == "f8"
    assert Servers(2).each(lambda server, r: r.of([np.empty(0, "i4")] if server else [], "sum", None, None))[0].dtype == "i8"
    with pytest.raises(reductions.DoesNotFit, match="no server has an element"):
        Servers(2).each(lambda server, r: r.of([], "min", None, None))
    with pytest.raises(reductions.DoesNotFit, match="whole numbers and some have not"):
        Servers(2).each(lambda server, r: r.of([np.ones(2, "i4" if server else "f8")], "sum", None, None))
    assert Servers(2).each(lambda server, r: r.of([], "hist", 3, (0, 1)))[0][0].tolist() == [0, 0, 0]


def test_sums_of_numbers_beyond_all_bounds_are_what_ieee_754_says():
    def total(*numbers):
        return Servers(1).each(lambda server, r: r.of([np.array(numbers)], "sum", None, None))[0] if all(map(np.isfinite, numbers)) \
            else reductions.Sums(reductions.exact_terms([np.array(numbers)])).alone()[0]
    assert total(1e308, 1e308, -1e308, 5e-324) == 1e308
    assert total(5e-324, 5e-324) == 1e-323
    assert total(1e16, 1.0, -1e16) == 1.0
    assert total(np.inf, 1.0) == np.inf and np.isnan(total(np.inf, -np.inf)) and np.isnan(total(np.nan, 1.0))


ALL = """
    import numpy as np

    def process(ds, ctx):
        a = ds["a"].values
        ctx.scalar("sum", ctx.reduce(ctx.blocks("a"), "sum"))
        ctx.scalar("mean", ctx.reduce(a, "mean"))
        ctx.scalar("n", ctx.reduce(a.size, "sum"))
        counts, edges = ctx.reduce(a, "hist", bins=4)
        ctx.store("counts", counts)
        assert isinstance(ctx.reduce(a.size, "sum"), np.int64) and edges[0] == a.min() and edges[-1] == a.max()
        assert (ctx.reduce(ds["a"], "max") == ds["a"]).all() and ctx.reduce(ds["a"], "max").dims == ds["a"].dims
        assert ctx.gather({"n": 3}) == [{"n": 3}] and (ctx.gather(a)[0] == a).all() and ctx.gather(a[0, 0])[0] == a[0, 0]
        assert ctx.is_first and ctx.servers == 1 and ctx.server == 0 and ctx.servers_missing == 0
"""


def test_in_a_run_of_one_server_the_outcome_is_what_it_gives(tmp_path):
    put(tmp_path, "all", ALL)
    with script_run(tmp_path, config(), ranks=2) as run:
        write_iterations(run, range(3))
    assert "FAILED" not in run.log() and "script \"all\", iteration" not in run.log(), run.log()
    assert [int(row["n"]) for row in table(tmp_path, "all")] == [16, 16, 16]


def test_a_variable_that_only_ranks_of_other_servers_have_written_has_no_values_here(tmp_path):
    """Those servers reduce it; one that got an error instead would be missing from all later calls of the iteration."""
    put(tmp_path, "absent", """
        def process(ds, ctx):
            assert "absent" not in ds
            assert ctx.reduce("absent", "sum") == 0 and ctx.reduce("absent", "mean") != ctx.reduce("absent", "mean")
            assert ctx.reduce("absent", "hist", bins=3, range=(0, 1))[0].tolist() == [0, 0, 0]
            try:
                ctx.reduce("absent", "min")
            except ValueError as error:
                assert "no server has an element" in str(error)
                ctx.scalar("n", 1)
        """)
    with script_run(tmp_path, config(ROW + '<layout name="one" type="int" dimensions="1"/><variable name="absent" layout="one"/>')) as run:
        write_iterations(run, range(2))
    assert [int(row["n"]) for row in rows(tmp_path, "absent")] == [1, 1], run.log()


@pytest.mark.parametrize("line, why", [
    ('ctx.reduce(object(), "sum")', 'ctx.reduce(..., "sum"): whole or floating-point numbers are expected'),
    ("ctx.gather(b'bytes')", "ctx.gather(...) of bytes"),
    ("ctx.gather('x' * (1 << 21))", "1048576 are the most of one server")])
def test_a_mistake_costs_that_call_and_says_why(tmp_path, line, why):
    put(tmp_path, "wrong", f"def process(ds, ctx):\n    if ctx.iteration == 1:\n        {line}\n"
        '    ctx.scalar("n", ctx.reduce(1, "sum"))\n')
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(3))
    assert why in run.log(), run.log()
    assert [int(row["iteration"]) for row in rows(tmp_path, "wrong")] == [0, 2]


def test_reductions_are_for_the_thread_and_the_time_of_the_call(tmp_path):
    put(tmp_path, "late", """
        import threading
        import leat

        said = []

        def attempt(ctx):
            try:
                ctx.reduce(1, "sum")
            except RuntimeError as error:
                said.append(str(error))

        before = []

        @leat.on_iteration()
        def process(ds, ctx):
            thread = threading.Thread(target=attempt, args=[ctx])
            thread.start()
            thread.join()
            if before:
                attempt(before[0])
            before.append(ctx)
            for text in said:
                print(text)
        """)
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(2))
    log = run.log()
    assert "in another thread than the function" in log and "after the function that ctx was given to has returned" in log, log


