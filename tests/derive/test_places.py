# SPDX-License-Identifier: Apache-2.0
"""What the server makes, where it is taken by others than one store beside the simulation."""
import h5py
import numpy as np
from arrays_run import products
from derived_run import NX, NY, fields, run, stored
from leat_run import same_bits

MEANS = '<variable name="double" expr="2*u" store="out"/><variable name="mean" expr="u" operation="mean" every="2" store="out"/>'


def test_several_servers_make_their_parts_and_the_view_has_all(tmp_path):
    whole = fields(6)
    run(tmp_path, MEANS, whole, 4, cores='2" servers="2', times=np.arange(6) + 1.0)
    assert same_bits(stored(tmp_path, "double"), 2 * whole["u"])
    with h5py.File(tmp_path / "run-over-2.h5") as file:
        assert file["mean"].shape == (3, NY, NX) and file["mean"].is_virtual
        for row in range(3):
            assert same_bits(file["mean"][row], (whole["u"][2 * row] + whole["u"][2 * row + 1]) / 2)
        assert file["time_bnds"][:].tolist() == [[1, 2], [2, 4], [4, 6]] and file["time"].attrs["bounds"] == b"time_bnds"


def test_plugins_in_a_process_of_their_own_get_them(tmp_path):
    whole = fields(4)
    stores = '<store name="out" type="hdf5"/><store name="stats" type="statistics" runs="idle" when-slow="wait"/>'
    run(tmp_path, '<variable name="double" expr="2*u" store="stats"/>', whole, store=stores)
    found, iterations = products(tmp_path, "stats")
    name = next(each for each in found if each.startswith("double") and each.endswith("max"))
    assert iterations == [0, 1, 2, 3] and same_bits(found[name], (2 * whole["u"]).max(axis=(1, 2)))


def test_with_a_buffer_that_spills_what_is_made_is_the_same(tmp_path):
    whole = fields(30)
    run(tmp_path, MEANS, whole, 2, buffer='1MiB" when-full="spill" spill-size="64MiB')
    assert same_bits(stored(tmp_path, "double"), 2 * whole["u"])
    found = stored(tmp_path, "mean", "run-over-2.h5")
    assert same_bits(found, (whole["u"][::2] + whole["u"][1::2]) / 2)


def test_with_the_server_in_the_simulation_it_is_the_same(tmp_path):
    whole = fields(6)
    run(tmp_path, MEANS, whole, 1, cores='1" place="none')
    assert same_bits(stored(tmp_path, "double"), 2 * whole["u"])
    assert same_bits(stored(tmp_path, "mean", "run-over-2.h5"), (whole["u"][::2] + whole["u"][1::2]) / 2)
