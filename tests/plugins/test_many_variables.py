# SPDX-License-Identifier: Apache-2.0
"""More variables than go into the list of those that a dimension scale names, which ends at 64 KiB."""
import json
import subprocess
import time

import h5py
from leat_plugin import Plugin, array, variable
from leat_run import BUILD, same_bits

COUNT, ITERATIONS = 20_000, 4
VARIABLES = [variable(f"v{i:05}", "f8", ["x"]) for i in range(COUNT)]


def write(folder, numbers, **more):
    plugin = Plugin(folder, VARIABLES, **more)
    for number in numbers:
        plugin.must(number, *(plugin.block(i, (2,), i + number) for i in range(COUNT)))
    return plugin


def test_twenty_thousand_variables_are_stored_and_have_their_dimensions(tmp_path):
    """Also by a server that goes on with the file of one that was killed."""
    write(tmp_path, range(2)).kill()
    assert "cannot" not in write(tmp_path, range(2, ITERATIONS), resumed=1).finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(ITERATIONS)) and file["leat/iteration_complete"][:].all()
        for i in range(COUNT):
            dataset = file[f"v{i:05}"]
            if i % 2000 in (0, 1999):  # HDF5 looks for a name in all of the file
                assert [dim[0].name for dim in dataset.dims] == ["/iteration", "/x"]
            for number in range(ITERATIONS) if i % 20 == 0 else ():
                assert same_bits(dataset[number], array((2,), "f8", i + number))
    start = time.monotonic()
    said = subprocess.run([BUILD / "bin/leat", "ls", "--json", "run.h5"], cwd=tmp_path, capture_output=True, text=True, check=True)
    print(f"leat ls: {time.monotonic() - start:.1f} s")
    facts = json.loads(said.stdout)
    assert not facts["problem"] and len(facts["variables"]) == COUNT and facts["variables"][-1]["shape"] == [ITERATIONS, 2]
