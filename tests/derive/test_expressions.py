# SPDX-License-Identifier: Apache-2.0
"""Variables with expr="...", compared with what NumPy makes of the same arrays."""
import json
import re

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from derived_run import NX, NY, by_rank, fields, run, stored, text
from leat_run import Run, same_bits, xml

EXPRESSIONS = {  # bit for bit what NumPy has: sums, products, quotients and roots are exact to the last bit in both
    "u": lambda u, v, n: u,
    "u*u + v*v": lambda u, v, n: u * u + v * v,
    "sqrt(u*u + v*v)": lambda u, v, n: np.sqrt(u * u + v * v),
    "-u^2": lambda u, v, n: -(u ** 2),
    "u/v - 3*(u - v)": lambda u, v, n: u / v - 3 * (u - v),
    "n": lambda u, v, n: n,
    "n + 1": lambda u, v, n: n + 1.0,
    "n*u": lambda u, v, n: n * u,
    "k*u": lambda u, v, n: 2.5 * u,
    "min(u, v) + max(u, 0)": lambda u, v, n: np.minimum(u, v) + np.maximum(u, 0),
    "where(u > 0 && v > 0, u, -1)": lambda u, v, n: np.where((u > 0) & (v > 0), u, -1.0),
    "abs(v) >= 10": lambda u, v, n: (np.abs(v) >= 10).astype("f8"),
    "floor(v/7) + ceil(u) + round(u)": lambda u, v, n: np.floor(v / 7) + np.ceil(u) + np.rint(u),
    "mod(v, 3)": lambda u, v, n: np.fmod(v, 3),
}


@pytest.mark.parametrize("ranks", [1, 3])
def test_they_are_what_numpy_makes_of_the_same_arrays(tmp_path, ranks):
    whole = fields(3)
    names = {f"d{i}": each for i, each in enumerate(EXPRESSIONS)}
    derived = "".join(f'<variable name="{name}" expr="{each.replace("&", "&amp;").replace("<", "&lt;")}"/>' for name, each in names.items())
    log = run(tmp_path, derived, whole, ranks)
    assert "not made" not in log and "anew" not in log, log
    with h5py.File(tmp_path / "run.h5") as file:
        for name, expression in names.items():
            expected = EXPRESSIONS[expression](**whole)
            assert file[name].shape == (3, NY, NX)
            assert same_bits(file[name][:], expected), (expression, file[name][:] - expected)


def test_functions_are_those_of_the_standard_library(tmp_path):
    whole = fields(1)
    functions = {"exp(u)": np.exp, "sin(u)": np.sin, "cos(u)": np.cos, "tan(u)": np.tan, "atan(u)": np.arctan, "sinh(u)": np.sinh,
                 "cosh(u)": np.cosh, "tanh(u)": np.tanh,
                 "log(abs(u))": lambda u: np.log(np.abs(u)), "ln(abs(u))": lambda u: np.log(np.abs(u)),
                 "log10(abs(u))": lambda u: np.log10(np.abs(u)), "log2(abs(u))": lambda u: np.log2(np.abs(u)), "u^3": lambda u: u ** 3,
                 "asin(tanh(u))": lambda u: np.arcsin(np.tanh(u)), "acos(tanh(u))": lambda u: np.arccos(np.tanh(u)),
                 "atan2(u, v)": lambda u: np.arctan2(u, whole["v"]), "sign(u)": np.sign, "isnan(u)": lambda u: np.isnan(u).astype("f8")}
    names = {f"d{i}": each for i, each in enumerate(functions)}
    run(tmp_path, "".join(f'<variable name="{name}" expr="{each}"/>' for name, each in names.items()), whole, 1)
    for name, expression in names.items():
        np.testing.assert_allclose(stored(tmp_path, name), functions[expression](whole["u"]), rtol=1e-15, atol=0)


def test_they_look_like_what_they_are_made_of(tmp_path):
    run(tmp_path, """<variable name="copy" expr="u"/><variable name="speed" expr="sqrt(u*u+v*v)" unit="m/s" description="how fast"
                     store-type="float"/>""", fields(2))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["copy"].attrs["units"] == file["u"].attrs["units"]
        assert file["speed"].attrs["long_name"].decode() == "how fast" and file["speed"].dtype == "f4"
        for name in ("copy", "speed"):
            assert [each.label for each in file[name].dims] == [each.label for each in file["u"].dims]
            assert [each[0].name for each in file[name].dims] == [each[0].name for each in file["u"].dims]


def test_arrays_of_fewer_dimensions_numbers_and_what_was_written_once_may_stand_in_them(tmp_path):
    whole, depth = fields(3), np.linspace(1, 5, NY, dtype="f4")
    more = {("depth", 0): depth, **{("dt", i): np.array(0.25 * (i + 1)) for i in range(3)}}
    run(tmp_path, '<variable name="flux" expr="u*depth*dt"/>', whole, 2, more=more)
    expected = whole["u"] * depth.astype("f8")[None, :, None] * np.array([0.25, 0.5, 0.75])[:, None, None]
    assert same_bits(stored(tmp_path, "flux"), expected)


def test_one_may_be_made_of_another(tmp_path):
    whole = fields(2)
    run(tmp_path, '<variable name="b" expr="a + 1" store="out"/><variable name="a" expr="u*2" store="none"/>', whole)
    assert same_bits(stored(tmp_path, "b"), whole["u"] * 2 + 1)
    with h5py.File(tmp_path / "run.h5") as file:
        assert "a" not in file


def test_every_is_each_nth_iteration_in_a_file_of_its_own(tmp_path):
    whole = fields(7)
    run(tmp_path, '<variable name="seldom" expr="u" every="3"/>', whole)
    with h5py.File(tmp_path / "run-every-3.h5") as file:
        assert same_bits(file["seldom"][:], whole["u"][::3]) and file["iteration"][:].tolist() == [0, 3, 6]
    with h5py.File(tmp_path / "run.h5") as file:
        assert "seldom" not in file and same_bits(file["u"][:], whole["u"])


def test_a_store_of_seldom_variables_alone_has_one_file_with_its_own_name(tmp_path):
    whole = fields(7)
    run(tmp_path, '<variable name="seldom" expr="u" every="3" store="small"/>', whole,
        store='<store name="out" type="hdf5"/><store name="small" type="hdf5" file="small.h5"/>')
    assert same_bits(stored(tmp_path, "seldom", "small.h5")[:, :, :], whole["u"][::3])
    assert sorted(path.name for path in tmp_path.glob("*.h5")) == ["run.h5", "small.h5"]


def test_a_division_by_zero_gives_an_infinity_and_is_reported(tmp_path):
    whole = fields(2)
    whole["v"][1, 2, 3] = 0
    log = run(tmp_path, '<variable name="q" expr="u/v"/>', whole)
    with np.errstate(divide="ignore"):
        assert same_bits(stored(tmp_path, "q"), whole["u"] / whole["v"])
    assert '"q" (run.xml' in log and '1 value infinite or no number, though all in expr="u/v" is finite there' in log, log


def test_a_value_that_is_too_large_for_its_type_is_missing_and_reported(tmp_path):
    whole = fields(2)
    whole["u"][1, 0, 0] = 4e4
    log = run(tmp_path, '<variable name="small" expr="u" store-type="int16"/>', whole)
    found = stored(tmp_path, "small")
    assert found[1, 0, 0] == -32768 and same_bits(found[0], np.rint(whole["u"][0]).astype("i2"))
    assert '1 value beyond what int16 can have: the missing value is in its place' in log, log


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_large_integers_stay_as_they_are_and_what_is_computed_of_them_is_reported(tmp_path, dtype):
    ids = 2**53 + np.arange(8, dtype=dtype)
    made = xml(f"""<layout name="ids" type="{dtype}" dimensions="8" global="8" names="x"/><variable name="id" layout="ids" store="none"/>
        <variable name="same" expr="id"/><variable name="part" expr="id" select="x=1:7:2"/><variable name="top" expr="id" reduce="max"/>""")
    log = write_arrays(tmp_path, made, [{("id", 0): ids}])
    assert same_bits(stored(tmp_path, "same")[0], ids) and same_bits(stored(tmp_path, "part")[0], ids[1:7:2])
    assert '"top"' in log and "7 values of 64-bit integers beyond 2^53" in log and '"part"' not in log, log


def test_ranks_cannot_write_them(tmp_path):
    whole = fields(1)
    with pytest.raises(AssertionError, match="it is not written by the simulation"):
        run(tmp_path, '<variable name="d" expr="u"/>', whole, 1, more={("d", 0): whole["u"][0]})


def test_variables_with_other_ghosts_go_together_without_them(tmp_path):
    """u has a layer of ghosts along x; w none, z two below and none above along x, and one along y."""
    whole = fields(3)
    own = NX // 2
    layouts = f"""<layout name="plain" type="double" dimensions="{NY},{own}" global="{NY},{NX}" names="y,x"/>
      <layout name="odd" type="float" dimensions="{NY + 2},{own + 2}" global="{NY},{NX}" ghosts="1:1,2:0" names="y,x"/>
      <variable name="w" layout="plain" store="none"/><variable name="z" layout="odd" store="none"/>"""
    derived = '<variable name="a" expr="u + w"/><variable name="b" expr="w - z"/><variable name="c" expr="u * z + w"/>' \
              '<variable name="d" expr="z + depth + u"/><variable name="e" expr="u - z" select="y=2"/>'
    ranks = by_rank(whole, 2)
    depth = np.arange(NY, dtype="f4")
    for rank, arrays in enumerate(ranks):
        arrays["depth", 0] = depth
        for name in "wz":
            arrays[name, "position"] = np.array([0, rank * own])
        for i in range(3):
            part = whole["u"][i][:, rank * own:(rank + 1) * own]
            arrays["w", i] = 2 * part
            arrays["z", i] = np.pad((3 * part).astype("f4"), ((1, 1), (2, 0)), constant_values=55)
    write_arrays(tmp_path, text(layouts + derived, 2), ranks)
    u, w, z = whole["u"], 2 * whole["u"], (3 * whole["u"]).astype("f4").astype("f8")
    d = depth.astype("f8")[:, None]
    for name, value in {"a": u + w, "b": w - z, "c": u * z + w, "d": z + d + u, "e": (u - z)[:, 2]}.items():
        assert same_bits(stored(tmp_path, name), value), name


@pytest.mark.parametrize("store_type, bits", [("float", 12), ("float", 23), ("double", 1), ("double", 52), ("double", 30)])
def test_bits_of_the_mantissa_are_rounded(tmp_path, store_type, bits):
    """Against integers: what is left is the nearest multiple of the last bit that is kept, ties to even."""
    whole = fields(2)
    whole["u"][0, 0, :6] = [0, -0.0, np.inf, -np.inf, np.nan, 1 + 2.0 ** -(bits + 1)]
    run(tmp_path, f'<variable name="a" expr="u" keep-bits="{bits}" store-type="{store_type}"/>', whole)
    found = stored(tmp_path, "a")
    mantissa, exponent = np.frexp(whole["u"])  # 0.5 <= mantissa < 1
    finite = np.isfinite(whole["u"])
    expected = np.where(finite, np.ldexp(np.rint(np.where(finite, mantissa, 0) * 2.0 ** (bits + 1)), exponent - bits - 1), whole["u"])
    assert found.dtype == ("f4" if store_type == "float" else "f8")
    assert same_bits(found.astype("f8")[np.isfinite(whole["u"])], expected[np.isfinite(whole["u"])])
    assert np.array_equal(np.isnan(found), np.isnan(whole["u"])) and np.array_equal(np.isinf(found), np.isinf(whole["u"]))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["a"].attrs["comment"] == f"rounded to {bits} bits of the mantissa".encode()


def test_a_parameter_that_ranks_have_set_differently_is_warned_of_once(tmp_path):
    made = ('<parameter name="j0,m,other" type="int"/><layout name="row" type="int" dimensions="4"/><variable name="a" layout="row"/>'
            '<variable name="d" expr="a + j0"/><variable name="e" expr="a*m"/>')
    with Run(tmp_path, xml(made), ranks=2) as run:
        ranks = run.init()
        for number in range(3):
            for rank in ranks:
                rank.must("set_int", "j0", 6 * rank.number)
                rank.must("set_int", "other", rank.number)
                rank.must("set_int", "m", 9)
                rank.must("set_int", "m", number)  # the same at the end of each iteration
                assert rank.write("a", 16, 1).ok
                rank.end()
        run.finish()
        log = run.log()
    said = set(re.findall(r'ranks have set the parameter "(\w+)" differently \((.*?)\), and "d" \(run.xml', log))
    assert said <= {("j0", "0 on rank 0, 6 on rank 1"), ("j0", "6 on rank 1, 0 on rank 0")} and len(said) == 1, log
    (warning,) = json.loads((tmp_path / "run.ledger.json").read_text())["warnings"]
    assert warning["what"] == "parameters" and warning["variable"] == "d"
