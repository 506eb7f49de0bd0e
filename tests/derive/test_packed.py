# SPDX-License-Identifier: Apache-2.0
"""Values that are stored as whole numbers with a scale and an offset: what NumPy makes of the same arrays, and readers of the file."""
import json
import os
import re
import signal
import subprocess
import sys

import h5py
import netCDF4
import numpy as np
import pytest
import xarray
from arrays_run import write_arrays
from derived_run import NX, NY, by_rank, fields, run, stored, text
from leat_run import BUILD, same_bits
from stored_blocks import stored_ranks

SCALE, OFFSET = 0.01, 273.15
PACKED = f'<variable name="a" expr="u" store-type="int16" scale="{SCALE}" offset="{OFFSET}"/>'
MISSING = {"i1": -128, "i2": -32768, "i4": -2 ** 31, "u1": 255, "u2": 65535, "u4": 2 ** 32 - 1}


def codes(values, scale=SCALE, offset=OFFSET, dtype="i2"):
    """As NumPy rounds them; what does not fit is the missing value."""
    info, missing = np.iinfo(dtype), MISSING[dtype]
    code = np.rint((values - offset) / scale)
    fits = (code >= info.min) & (code <= info.max) & (code != missing)
    return np.where(fits, code, missing).astype(dtype)


def warm(iterations, seed=1):
    """Fields whose u lies within what fits."""
    whole = fields(iterations, seed)
    whole["u"] = 273.15 + 20 * whole["u"]
    return whole


def errors(values, unpacked, rows=None):
    """The largest difference of each iteration."""
    return np.nanmax(np.abs(unpacked - values).reshape(len(values), -1), axis=1)


def expect(folder, u, file="run.h5"):
    with h5py.File(folder / file) as opened:
        assert same_bits(opened["a"][:], codes(u))
        assert same_bits(opened["a_error"][:].ravel(), errors(u, codes(u) * SCALE + OFFSET))


@pytest.mark.parametrize("ranks", [1, 3])
def test_codes_and_attributes_are_those_of_cf(tmp_path, ranks):
    whole = warm(3)
    log = run(tmp_path, PACKED, whole, ranks)
    assert "missing" not in log, log
    expect(tmp_path, whole["u"])
    with h5py.File(tmp_path / "run.h5") as file:
        attributes = file["a"].attrs
        assert file["a"].dtype == "i2" and attributes["_FillValue"].dtype == "i2" and attributes["_FillValue"].item() == -32768
        assert (attributes["scale_factor"].item(), attributes["add_offset"].item()) == (SCALE, OFFSET)
        assert attributes["scale_factor"].dtype == attributes["add_offset"].dtype == "f8"
        assert attributes["ancillary_variables"] == b"a_error" and attributes["units"] == b"m/s"
        assert file["a_error"].attrs["units"] == b"m/s"
        assert [each[0].name for each in file["a"].dims] == [each[0].name for each in file["u"].dims]


def test_readers_have_the_values_but_for_half_a_step(tmp_path):
    whole = warm(3)
    whole["u"][1, 2, 3], whole["u"][2, 0, 0] = np.nan, 1e9
    run(tmp_path, PACKED, whole)
    u = np.where(whole["u"] > 1e8, np.nan, whole["u"])
    with xarray.open_dataset(tmp_path / "run.h5", engine="netcdf4", decode_timedelta=False) as opened:
        found = opened["a"].values
        assert found.dtype.kind == "f" and opened["a"].encoding["dtype"] == np.dtype("i2")
    with netCDF4.Dataset(tmp_path / "run.h5") as opened:
        also = opened["a"][:]
    for values in (found, also.filled(np.nan)):
        assert np.array_equal(np.isnan(values), np.isnan(u))
        rounding = np.spacing(np.float32(np.nanmax(u))) if values.dtype == "f4" else 1e-12  # as older xarray has it
        assert np.nanmax(np.abs(values - u)) <= SCALE / 2 + rounding


@pytest.mark.parametrize("name, dtype, scale, offset", [
    ("int8", "i1", 0.5, 0), ("uint8", "u1", 0.25, -20), ("uint16", "u2", -0.001, 30), ("int32", "i4", 1e-8, 0),
    ("uint32", "u4", 1e-6, -100), ("short", "i2", 2.0 ** -10, -1)])
def test_all_types_of_up_to_32_bits(tmp_path, name, dtype, scale, offset):
    whole = fields(2)
    info, middle = np.iinfo(dtype), (0, 0, slice(0, 6))
    ends = [info.min, info.max, info.min + 1, info.max - 1, info.min - 1, info.max + 1]
    whole["u"][middle] = offset + scale * np.array(ends, "f8")
    run(tmp_path, f'<variable name="a" expr="u" store-type="{name}" scale="{scale}" offset="{offset}"/>', whole)
    wanted = codes(whole["u"], scale, offset, dtype)
    assert same_bits(stored(tmp_path, "a"), wanted)
    valid = wanted != MISSING[dtype]
    unpacked = np.where(valid, wanted * scale + offset, np.nan)
    assert same_bits(stored(tmp_path, "a_error"), errors(np.where(valid, whole["u"], np.nan), unpacked))


def test_what_does_not_fit_never_wraps_and_is_reported(tmp_path):
    whole = warm(3)
    whole["u"][1, 0, :4] = [600.83, -54.53, np.inf, -np.inf]
    whole["u"][1, 3, :2] = np.nan
    whole["u"][2, 0, :2] = [600.82, -54.52]
    log = run(tmp_path, PACKED, whole)
    found = stored(tmp_path, "a")
    assert same_bits(found, codes(whole["u"]))
    assert found[1, 0, :4].tolist() == [-32768] * 4 and found[1, 3, :2].tolist() == [-32768] * 2
    assert found[2, 0, :2].tolist() == [32767, -32767]
    said = "4 values beyond what fits in int16, -54.52 to 600.82, and 2 values no number: the missing value is in their place"
    assert '"a" (run.xml:' in log and said in log, log
    warnings = json.loads((tmp_path / "run.ledger.json").read_text())["warnings"]
    assert any(said in json.dumps(each) for each in warnings), warnings


def test_other_stores_have_the_values_themselves(tmp_path):
    whole = warm(2)
    whole["u"][1, 0, :2] = [1e9, np.nan]
    raw = '<store name="bytes" type="raw" folder="bytes"><option name="file-per" value="variable"/></store>'
    log = run(tmp_path, PACKED.replace("/>", ' store="bytes"/>'), whole, 1, store='<store name="out" type="hdf5"/>' + raw)
    assert "in their place" not in log, log
    (path,) = [path for path in tmp_path.rglob("a*") if path.is_file() and "bytes" in str(path.parent)]
    padded = np.pad(whole["u"], ((0, 0), (0, 0), (1, 1)), constant_values=77)
    assert path.read_bytes() == padded.tobytes() or path.read_bytes() == whole["u"].tobytes()


def test_what_is_made_of_it_and_scripts_have_the_values_themselves(tmp_path):
    whole = warm(2)
    (tmp_path / "look.py").write_text('''
import leat, numpy as np

@leat.on_iteration
def look(ds, ctx):
    np.save(f"a{ctx.iteration}.npy", np.asarray(ds["a"].values))
''')
    run(tmp_path, PACKED + '<variable name="b" expr="a * 2"/>', whole, log='<scripts><script file="look.py" when-slow="wait"/></scripts>')
    assert same_bits(stored(tmp_path, "b"), whole["u"] * 2)
    for i in range(2):
        assert same_bits(np.load(tmp_path / f"a{i}.npy"), whole["u"][i])


def test_a_replay_has_values_too(tmp_path):
    whole = warm(3)
    whole["u"][1, 2, 3] = np.nan
    run(tmp_path, PACKED, whole)
    (tmp_path / "look.py").write_text('''
import numpy as np

def process(ds, ctx):
    assert "a_error" not in ds
    ctx.store("a", np.asarray(ds["a"].values), dims=["y", "x"])
''')
    done = subprocess.run([BUILD / "bin/leat", "replay", "run.h5", "look.py", "--output", "again", "--interpreter", sys.executable],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "again/look.h5") as file:
        found = file["a"][:]
    code = codes(whole["u"])
    assert np.array_equal(found, np.where(code == -32768, np.nan, code * SCALE + OFFSET), equal_nan=True)


def test_vtk_and_xdmf_leave_them_out_and_say_so(tmp_path):
    whole = warm(2)
    mesh = '<mesh name="plate" type="uniform" origin="0,0" spacing="1,1"/>'
    log = run(tmp_path, mesh + PACKED.replace("/>", ' mesh="plate"/>') + '<variable name="b" expr="u" mesh="plate"/>', whole)
    with h5py.File(tmp_path / "run.h5") as file:
        shown = []
        file["VTKHDF"].visit(lambda name: shown.append(name.rpartition("/")[2]))
        assert "b" in shown and "a" not in shown, log
    done = subprocess.run([BUILD / "bin/leat", "xdmf", "run.h5"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and 'variable "a": it is stored as whole numbers' in done.stdout, done
    assert "run.h5:/b" in (tmp_path / "run.xmf").read_text()


@pytest.mark.parametrize("store_type, bits", [("float", 12), ("float", 23), ("double", 20)])
def test_rounded_values_have_their_error_beside_them_and_scripts_have_them_whole(tmp_path, store_type, bits):
    whole = fields(3)
    whole["u"][1, 0, :3] = [np.nan, np.inf, -np.inf]
    run(tmp_path, f'<variable name="a" expr="u" keep-bits="{bits}" store-type="{store_type}"/><variable name="b" expr="a"/>'
        f'<variable name="n8" expr="n" store-type="float" keep-bits="1"/>', whole, 2)
    found = stored(tmp_path, "a").astype("f8")
    with np.errstate(invalid="ignore"):
        assert same_bits(stored(tmp_path, "a_error"), errors(np.where(np.isfinite(whole["u"]), whole["u"], np.nan), found))
    assert same_bits(stored(tmp_path, "b"), whole["u"])
    assert same_bits(stored(tmp_path, "n8_error"), errors(whole["n"].astype("f8"), stored(tmp_path, "n8").astype("f8")))
    assert stored(tmp_path, "n8_error").max() == 1  # 9 is 8


def test_a_file_with_other_bits_is_left_alone(tmp_path):
    rounded = '<variable name="a" expr="u" keep-bits="12"/>'
    whole = warm(6)
    part_of_run(tmp_path, rounded, whole, 0, 3)
    with pytest.raises(AssertionError) as failed:
        part_of_run(tmp_path, rounded.replace("12", "14"), whole, 3, 6)
    assert 'variable "a": keep-bits is 12 in the file, and 14 in the XML' in " ".join(str(failed.value).split())
    part_of_run(tmp_path, rounded, whole, 3, 6)
    assert same_bits(stored(tmp_path, "a_error"), errors(whole["u"], stored(tmp_path, "a")))


def test_parts_means_compression_and_groups(tmp_path):
    whole = warm(6)
    derived = f"""<variable name="part" expr="u" select="y=1:3, x=::2" store-type="int16" scale="0.1" offset="270" compression="deflate:4"/>
      <group name="g"><variable name="m" expr="u" operation="mean" every="3" store-type="int32" scale="{SCALE}"/></group>"""
    run(tmp_path, derived, whole, 2)
    assert same_bits(stored(tmp_path, "part"), codes(whole["u"][:, 1:3, ::2], 0.1, 270))
    mean = whole["u"].reshape(2, 3, NY, NX).mean(axis=1)
    found = stored(tmp_path, "g/m", "run-over-3.h5")
    assert found.dtype == "i4" and np.abs(found * SCALE - mean).max() <= SCALE / 2 * (1 + 1e-9)
    with h5py.File(tmp_path / "run-over-3.h5") as file:
        assert file["g/m"].attrs["ancillary_variables"] == b"m_error" and np.isfinite(file["g/m_error"][:]).all()
    with netCDF4.Dataset(tmp_path / "run-over-3.h5") as opened:
        assert np.abs(opened["g"]["m"][:] - mean).max() <= SCALE / 2 * (1 + 1e-9)


def test_several_servers_have_them_in_their_view(tmp_path):
    whole = warm(4)
    run(tmp_path, PACKED, whole, 4, cores='2" servers="2')
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][:], codes(whole["u"])) and file["a"].attrs["scale_factor"].item() == SCALE
        assert file["a"].attrs["_FillValue"].item() == -32768
        found = file["a_error"][:].reshape(-1)
        by_server = [errors(half, codes(half) * SCALE + OFFSET) for half in np.split(whole["u"], 2, axis=2)]
        assert sorted(found.tolist()) == sorted(np.concatenate(by_server).tolist())


@pytest.mark.parametrize("store, servers", [('runs="sync"', 1), ('files="1"', 2), ('durability="iteration" compression="deflate:1"', 1)])
def test_stores_of_other_kinds_have_them(tmp_path, store, servers):
    whole = warm(4)
    run(tmp_path, PACKED, whole, 4, store=f'<store name="out" type="hdf5" {store}/>', cores=f'{servers}" servers="{servers}')
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][:], codes(whole["u"])) and file["a"].attrs["scale_factor"].item() == SCALE
        halves = np.split(whole["u"], servers, axis=2)
        wanted = np.concatenate([errors(half, codes(half) * SCALE + OFFSET) for half in halves])
        assert sorted(file["a_error"][:].ravel().tolist()) == sorted(wanted.tolist())


def test_lists_of_any_length_and_other_ghosts(tmp_path):
    """Blocks without a place in a global array, of another length in each iteration, one of them empty."""
    lists = [[np.random.default_rng(i + 5 * rank).normal(280, 9, 3 * i * (rank + 1)) for i in range(3)] for rank in range(2)]
    derived = """<layout name="list" type="double" dimensions="?"/><variable name="w" layout="list" store="none"/>
      <variable name="p" expr="w" store-type="uint16" scale="0.01" offset="100"/>"""
    ranks = by_rank(warm(3), 2)
    for arrays, own in zip(ranks, lists):
        arrays.update({("w", i): values for i, values in enumerate(own)})
    write_arrays(tmp_path, text(derived, 2), ranks)
    with h5py.File(tmp_path / "run.h5") as file:
        for i in range(3):
            found = stored_ranks(file, "p", i)
            for rank in range(2):
                if lists[rank][i].size:
                    assert same_bits(found[rank], codes(lists[rank][i], 0.01, 100, "u2")), (i, rank)
            values = np.concatenate([own[i] for own in lists])
            error = np.abs(codes(values, 0.01, 100, "u2") * 0.01 + 100 - values).max() if values.size else 0
            assert file["p_error"][i] == error


def test_servers_that_are_killed_leave_the_same_file(tmp_path):
    whole, killed = warm(12, seed=5), []

    def kill(its_run, iteration):
        if iteration % 3 == 1:
            for server in its_run.servers():
                os.kill(server, signal.SIGKILL)
                killed.append(server)

    run(tmp_path, PACKED, whole, sync=True, after=kill)
    assert len(killed) == 4
    expect(tmp_path, whole["u"])


def part_of_run(folder, derived, whole, first, last):
    arrays = by_rank(whole, 2)
    for each in arrays:
        for key in [key for key in each if key[1] != "position" and not first <= key[1] < last]:
            del each[key]
        if first:
            each["run", "start"] = np.array(first)
    return write_arrays(folder, text(derived, 2, store='<store name="out" type="hdf5" append="true"/>'), arrays)


def test_a_run_goes_on_in_the_file_of_an_earlier_one(tmp_path):
    whole = warm(9)
    part_of_run(tmp_path, PACKED, whole, 0, 6)
    part_of_run(tmp_path, PACKED, whole, 4, 9)  # two rows are cut off, and come again
    expect(tmp_path, whole["u"])


@pytest.mark.parametrize("other, said", [
    (PACKED.replace("0.01", "0.02"), 'variable "a": scale is 0.01 in the file, and 0.02 in the XML'),
    (PACKED.replace("273.15", "270"), 'variable "a": offset is 273.14999999999998 in the file, and 270 in the XML'),
    (PACKED.replace("int16", "int32"), 'variable "a": type is int16 in the file, and int32 in the XML'),
    ('<variable name="a" expr="u" store-type="int16"/>', 'variable "a": scale is 0.01 in the file, and none in the XML')])
def test_a_file_with_another_scale_is_left_alone(tmp_path, other, said):
    whole = warm(6)
    part_of_run(tmp_path, PACKED, whole, 0, 3)
    before = (tmp_path / "run.h5").read_bytes()
    with pytest.raises(AssertionError) as failed:
        part_of_run(tmp_path, other, whole, 3, 6)
    told = " ".join(str(failed.value).split())
    assert "cannot append to run.h5" in told and said in told, failed.value
    assert (tmp_path / "run.h5").read_bytes() == before


def test_leat_check_says_what_fits(tmp_path):
    (tmp_path / "run.xml").write_text(text(PACKED, 1))
    done = subprocess.run([BUILD / "bin/leat", "check", tmp_path / "run.xml", "--explain", "a"], capture_output=True, text=True)
    whole = subprocess.run([BUILD / "bin/leat", "check", tmp_path / "run.xml"], capture_output=True, text=True)
    assert re.search(r"^ +a +int16 +m/s +u in each iteration", whole.stdout, re.M), whole.stdout
    assert done.returncode == 0 and "as int16 in m/s, in steps of 0.01: -54.52 to 600.82 fit;" in done.stdout, done.stdout + done.stderr
