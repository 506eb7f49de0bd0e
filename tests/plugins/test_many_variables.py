# SPDX-License-Identifier: Apache-2.0
"""More variables than go into the list of those that a dimension scale names, which ends at 64 KiB."""
import json
import subprocess
import time

import h5py
from leat_plugin import Plugin, array, variable
from leat_run import BUILD, same_bits

COUNT, ITERATIONS = 5_000, 4  # a list of 4,096 names is 64 KiB; `make soak` has 20,000


def write(folder, count, numbers, **more):
    plugin = Plugin(folder, [variable(f"v{i:05}", "f8", ["x"]) for i in range(count)], **more)
    for number in numbers:
        plugin.must(number, *(plugin.block(i, (2,), i + number) for i in range(count)))
    return plugin


def test_thousands_of_variables_are_stored_and_have_their_dimensions(tmp_path):
    expect_stored(tmp_path, COUNT)


def expect_stored(folder, count):
    """Also by a server that goes on with the file of one that was killed."""
    write(folder, count, range(2)).kill()
    assert "cannot" not in write(folder, count, range(2, ITERATIONS), resumed=1).finish()
    with h5py.File(folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(ITERATIONS)) and file["leat/iteration_complete"][:].all()
        for i in range(count):
            dataset = file[f"v{i:05}"]
            if i % (count // 10) in (0, count // 10 - 1):  # HDF5 looks for a name in all of the file
                assert [dim[0].name for dim in dataset.dims] == ["/iteration", "/x"]
            for number in range(ITERATIONS) if i % 20 == 0 else ():
                assert same_bits(dataset[number], array((2,), "f8", i + number))
    start = time.monotonic()
    said = subprocess.run([BUILD / "bin/leat", "ls", "--json", "run.h5"], cwd=folder, capture_output=True, text=True, check=True)
    print(f"leat ls: {time.monotonic() - start:.1f} s")
    facts = json.loads(said.stdout)
    assert not facts["problem"] and len(facts["variables"]) == count and facts["variables"][-1]["shape"] == [ITERATIONS, 2]
