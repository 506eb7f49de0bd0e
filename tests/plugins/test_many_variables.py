# SPDX-License-Identifier: Apache-2.0
"""More variables than go into the list of those that a dimension scale names, which ends at 64 KiB."""
import h5py
from leat_plugin import Plugin, array, variable
from leat_run import same_bits

COUNT, ITERATIONS = 5000, 2


def test_five_thousand_variables_are_stored_and_have_their_dimensions(tmp_path):
    variables = [variable(f"v{i:04}", "f8", ["x"]) for i in range(COUNT)]
    plugin = Plugin(tmp_path, variables)
    for number in range(ITERATIONS):
        plugin.must(number, *(plugin.block(i, (2,), i + number) for i in range(COUNT)))
    assert not plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(ITERATIONS)) and file["leat/iteration_complete"][:].all()
        for i in range(COUNT):
            dataset = file[f"v{i:04}"]
            if i % 500 in (0, 499):  # HDF5 looks for a name in all of the file
                assert [dim[0].name for dim in dataset.dims] == ["/iteration", "/x"]
            for number in range(ITERATIONS):
                assert same_bits(dataset[number], array((2,), "f8", i + number))
    assert (tmp_path / "run.h5").stat().st_size < 400 << 20
