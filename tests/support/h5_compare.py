# SPDX-License-Identifier: Apache-2.0
"""Whether two HDF5 files say the same to h5py, to the last bit and attribute; all but `history`, which says when, and
`leat_run_number`, which no two runs share."""
import h5py
import numpy as np

# What tells the run that has written a view, or a part, from others.
WHO = ["session", "leat_parts", "leat_started_ns"]


def content(path, skip=()):
    """{name: all that h5py sees of it}, but for what lies in the groups `skip`."""
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
        if name.split("/")[0] in skip:
            return
        seen[name] = attributes(found)
        if isinstance(found, h5py.Dataset):
            seen[name] |= {"is": (found.dtype, found.shape, found.maxshape, found.chunks, found.compression,
                                  found.fillvalue.tobytes()), "data": found[()].tobytes()}

    with h5py.File(path) as file:
        note("/", file)
        file.visititems(note)
    return seen


def expect_same(path, wanted, but=(), skip=()):
    """`but`: datasets, and attributes of the file, that may differ. skip: groups that are not read."""
    got, wanted = content(path, skip), content(wanted, skip)
    for name in but:
        for one in (got, wanted):
            one.pop(name, None), one["/"].pop(name, None)
    assert sorted(got) == sorted(wanted)
    for name in wanted:
        assert got[name].keys() == wanted[name].keys(), name
        for what in wanted[name]:
            assert got[name][what] == wanted[name][what], (name, what)


def parts_of(view):
    """{name: path} of the parts that a view shows."""
    with h5py.File(view) as file:
        return {path.name: path for path in (view.parent / file.attrs["leat_parts"].decode()).iterdir()}


def expect_same_view(view, wanted):
    """Of runs with several servers, and their parts too. Not /VTKHDF of a view: its arrays have room for 2^31 iterations."""
    ours, theirs = parts_of(view), parts_of(wanted)
    assert sorted(ours) == sorted(theirs)
    groups = ["leat", *(f"parts/{name.partition('.')[0]}" for name in ours)]
    ledgers = [f"{group}/ledger{end}" for group in groups for end in ("", "_length")]
    for name in theirs:
        expect_same(ours[name], theirs[name], but=[*WHO, *ledgers])
    expect_same(view, wanted, but=[*WHO, *ledgers], skip=["VTKHDF"])
