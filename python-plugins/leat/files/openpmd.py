# SPDX-License-Identifier: Apache-2.0
"""The command `leat openpmd FILE`: a small file of openPMD 1.1.0 whose datasets are virtual ones: their values are in the file of the run,
or in the files of all nodes that a view shows.
Exit status: 0 it is made, 1 it could not be."""
import argparse
import os

from . import reading, sidecar
from .reading import CannotRead, text_of

_LONGEST_SILENCE = 300  # seconds of processor time
_COMMAND = reading.Command("openpmd")
_MARK = "leat_openpmd_of"


def main():
    return sidecar.made_by(_COMMAND, _parser().parse_args(), ".openpmd.h5", _make)


def _parser():
    parser = argparse.ArgumentParser(
        prog="leat openpmd", allow_abbrev=False,
        description="Makes a small file with which tools for openPMD read the file of a run, without a second copy of its values.",
        epilog="Exit codes: 0 the file is made; 1 it could not be; 2 the command line is wrong.")
    parser.add_argument("file", metavar="FILE", help="What a store of type hdf5 has written, or a view")
    parser.add_argument("-o", "--output", metavar="OUT", help="The file (default: beside FILE, with the ending .openpmd.h5)")
    parser.add_argument("--json", action="store_true", help="Print JSON")
    parser.add_argument("--interpreter", metavar="PYTHON", help="Python with h5py (default: python3 in PATH)")
    return parser


def _make(options, made, temporary):
    from ..reader.source import source_of
    from .openpmd_plan import agree, plan_of
    reading.expect_life(_LONGEST_SILENCE)
    why = reading.why_no_file(options.file)
    if why:
        raise CannotRead(f"{options.file} {why}")
    head = {}

    def look(stored):
        head.update({name: text_of(stored.file, name) for name in ("simulation", "leat_version", "history")})
        return plan_of(options.file, stored.model.time.unit if stored.model.time else "")
    plan = source_of(options.file).read(look, agree)
    left_out = sorted(plan.left_out)
    if plan.is_empty:
        raise CannotRead(f"{options.file} has nothing that openPMD can show" + "".join(f"\n  without {what}" for what in left_out))
    name = os.path.basename(options.file)
    sidecar.expect_free(made, options.file, lambda: _is_of(made, name))
    sidecar.remove_old_parts(made)
    source = os.path.relpath(options.file, os.path.dirname(os.path.abspath(made)))
    _replace(made, temporary, lambda file: _write(file, plan, source, {**head, _MARK: name}))
    return sidecar.say(options, {"iterations": len(plan.iterations), "openpmd": made},
                       f"{made}: {sidecar.counted(len(plan.iterations), 'iteration')}", left_out)


def _is_of(path, name):
    import h5py
    if os.path.islink(path) or reading.why_no_file(path) or not h5py.is_hdf5(path):
        return False
    try:
        with reading.opened(path) as file:
            return text_of(file, _MARK) == name
    except OSError:
        return False


def _replace(path, temporary, write):
    import h5py
    try:
        file = h5py.File(temporary, "x", libver=("v110", "v110"))  # half as large as in the oldest form
    except OSError as error:
        raise CannotRead(f"{path} could not be made: cannot write {temporary}: {error}") from None
    try:
        with file:
            write(file)
        os.replace(temporary, path)
    except BaseException:
        sidecar.remove(temporary)
        raise


def _write(file, plan, source, head):
    """source: the name of the run's file, as it is seen from the folder of this one."""
    import numpy as np
    _set(file, {"openPMD": "1.1.0", "basePath": "/data/%T/", "meshesPath": "meshes/", "particlesPath": "particles/",
                "iterationEncoding": "groupBased", "iterationFormat": "/data/%T/", "software": "Leat", _MARK: head[_MARK],
                "softwareVersion": head["leat_version"] or "unknown", "leat_simulation": head["simulation"] or "unknown"})
    file.attrs["openPMDextension"] = np.uint32(0)
    file.create_group("data")
    once = {}  # what does not vary in time is one dataset for all iterations
    for number, each in plan.iterations.items():
        reading.expect_life(_LONGEST_SILENCE)
        group = file.create_group(f"data/{number}")
        _set(group, {"time": each.time, "dt": each.step, "timeUnitSI": plan.time_unit})
        for name, record in each.meshes.items():
            _write_record(group, f"meshes/{name}", record, source, once)
        for species, records in each.species.items():
            for name, record in records.items():
                _write_record(group, f"particles/{species}/{name}", record, source, once)


def _write_record(group, path, record, source, once):
    if "" in record.components:
        _write_component(group, path, record.components[""], record.attributes, source, once)
        return
    made = group.create_group(path)
    _set(made, record.attributes)
    for axis, component in record.components.items():
        _write_component(made, axis, component, {}, source, once)
    for axis, (value, shape, attributes) in record.constants.items():
        _set(made.create_group(axis), {**attributes, "value": value})
        made[axis].attrs["shape"] = _counts(shape)


def _write_component(group, name, component, attributes, source, once):
    import h5py
    import numpy as np
    key = (component.path, str(component.selection), str(attributes))
    if key in once:
        group[name] = once[key]
        return
    dtype = np.dtype(component.dtype)
    plan, shown = h5py.h5p.create(h5py.h5p.DATASET_CREATE), h5py.h5s.create_simple(component.shape)
    if 0 not in component.shape:
        there = h5py.h5s.create_simple(component.extents)
        there.select_hyperslab(*(tuple(each) for each in zip(*component.selection, strict=True)))
        plan.set_virtual(shown, os.fsencode(source.replace("%", "%%")), component.path.replace("%", "%%").encode(), there)
        plan.set_fill_value(np.frombuffer(component.fill, dtype))
    made = h5py.h5d.create(group.id, name.encode(), h5py.h5t.py_create(dtype, logical=True), shown, plan, _with_groups())
    made = h5py.Dataset(made)
    _set(made, {**attributes, **component.attributes})
    once[key] = made


def _with_groups():
    """A dataset is made with the groups that are in its name."""
    import h5py
    plan = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    plan.set_create_intermediate_group(True)
    return plan


def _counts(shape):
    import numpy as np
    return np.array(shape, "u8")


def _set(thing, attributes):
    """Texts of fixed length, which all readers take; real numbers of 64 bits. By calls that cost little: there are many."""
    import h5py
    import numpy as np
    for name, value in attributes.items():
        first = value[0] if isinstance(value, list) else value
        if isinstance(first, str):
            array = np.array([text.encode() for text in value] if isinstance(value, list) else value.encode(), "S")
        else:
            array = np.array(value, "f8")
        space = h5py.h5s.create_simple(array.shape) if array.shape else h5py.h5s.create(h5py.h5s.SCALAR)
        h5py.h5a.create(thing.id, name.encode(), h5py.h5t.py_create(array.dtype, logical=True), space).write(array)
