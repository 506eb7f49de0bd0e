# SPDX-License-Identifier: Apache-2.0
"""Whether two HDF5 files say the same to h5py, to the last bit and attribute; all but `history`, which says when, and
`leat_run_number`, which no two runs share."""
import h5py
import numpy as np


def content(path):
    """{name: all that h5py sees of it}."""
    seen = {}

    def text(value):
        if isinstance(value, h5py.Reference):
            return file[value].name
        if isinstance(value, np.void) and value.dtype.names == ("dataset", "dimension"):
            return file[value["dataset"]].name, int(value["dimension"])
        if isinstance(value, np.ndarray) and value.dtype == object or isinstance(value, np.ndarray) and value.dtype.names == (
                "dataset", "dimension"):
            return [text(v) for v in value]
        return (str(value.dtype), value.shape, value.tobytes()) if hasattr(value, "tobytes") else value

    def attributes(found):
        # Who uses a scale is listed in the order in which they were made.
        return {name: sorted(text(v)) if name == "REFERENCE_LIST" else text(v) for name, v in found.attrs.items()
                if name not in ("history", "leat_run_number")}

    def note(name, found):
        seen[name] = attributes(found)
        if isinstance(found, h5py.Dataset):
            seen[name] |= {"is": (found.dtype, found.shape, found.maxshape, found.chunks, found.compression,
                                  found.fillvalue.tobytes()), "data": found[()].tobytes()}

    with h5py.File(path) as file:
        note("/", file)
        file.visititems(note)
    return seen


def expect_same(path, wanted, but=()):
    """`but`: datasets, and attributes of the file, that may differ."""
    got, wanted = content(path), content(wanted)
    for name in but:
        for one in (got, wanted):
            one.pop(name, None), one["/"].pop(name, None)
    assert sorted(got) == sorted(wanted)
    for name in wanted:
        assert got[name].keys() == wanted[name].keys(), name
        for what in wanted[name]:
            assert got[name][what] == wanted[name][what], (name, what)
