# SPDX-License-Identifier: Apache-2.0
"""What xarray shows of references for Zarr, against what it shows of their file, in the environment of tools/neighbours.txt:
zarr_read.py compare FILE JSON      prints JSON: {group/variable: what differs}, and under "" the variables that are the same
zarr_read.py kerchunk FILE JSON     prints JSON: {key: [ours, kerchunk's]} of chunks that kerchunk finds elsewhere; "": those that agree
zarr_read.py unreachable JSON NAME  prints JSON: {"unreachable": whether to read this variable is an error, since a file is not there}
zarr_read.py values JSON OUT.npz NAME...  these variables
JSON is opened in its own folder."""
import json
import shutil
import sys
import warnings

import h5py
import numpy as np
import xarray as xr

warnings.simplefilter("error")
warnings.filterwarnings("ignore", category=FutureWarning)
warnings.filterwarnings("ignore", message=".*(cftime|invalid value encountered|numpy.ndarray size changed)")


def groups_of(path):
    groups = [""]
    with h5py.File(path) as file:
        file.visititems(lambda name, thing: groups.append(name) if isinstance(thing, h5py.Group) and "VTKHDF" not in name else None)
    return groups


def attributes_of(thing):
    """Without what netCDF has for itself and h5netcdf shows."""
    return repr({name: plain(value) for name, value in sorted(thing.attrs.items()) if name != "DIMENSION_LABELS"})


def plain(value):
    """As JSON has it: numbers without a size."""
    value = np.asarray(value)
    return (value.tolist() if value.ndim else value.item()) if value.dtype.kind != "S" else str(value.astype("U"))


def difference(one, other):
    """"" between two variables; their values are compared bit for bit."""
    if (one.dims, one.shape, one.dtype) != (other.dims, other.shape, other.dtype):
        return f"{one.dims} {one.shape} {one.dtype} and {other.dims} {other.shape} {other.dtype}"
    if attributes_of(one) != attributes_of(other):
        return f"attributes {one.attrs} and {other.attrs}"
    values = [np.asarray(each.values) for each in (one, other)]
    is_same = values[0].tolist() == values[1].tolist() if values[0].dtype.kind == "O" else values[0].tobytes() == values[1].tobytes()
    return "" if is_same else f"values {values[0].ravel()[:9]} and {values[1].ravel()[:9]}"


def compare(path, references):
    found = {"": []}
    options = {"engine": "zarr", "backend_kwargs": {"storage_options": {"fo": references}}}
    for group in groups_of(path):
        for mask in (True, False):
            more = {"group": group or None, "mask_and_scale": mask, "decode_timedelta": False}
            with xr.open_dataset(path, engine="h5netcdf", phony_dims="access", **more) as own, \
                    xr.open_dataset("reference://", **options, **more) as seen:
                if attributes_of(own) != attributes_of(seen):
                    found[f"{group}/.zattrs"] = f"{own.attrs} and {seen.attrs}"
                if set(own.coords) - set(seen.coords) or set(seen.coords) - set(own.coords):
                    found[f"{group}/"] = f"coordinates {list(own.coords)} and {list(seen.coords)}"
                for name in {**own.variables, **seen.variables}:
                    key = f"{group}/{name}".lstrip("/")
                    what = "not there" if name not in seen.variables else "only there" if name not in own.variables else \
                        difference(own.variables[name], seen.variables[name])
                    if what:
                        found[key] = what
                    elif mask:
                        found[""].append(key)
    return found


def kerchunk(path, references):
    """On a copy without /VTKHDF, over whose lists of a billion places kerchunk does not come to an end."""
    from kerchunk.hdf import SingleHdf5ToZarr
    shutil.copy(path, "copy.h5")
    with h5py.File("copy.h5", "a") as file:
        if "VTKHDF" in file:
            del file["VTKHDF"]
    with open("copy.h5", "rb") as file:
        theirs = SingleHdf5ToZarr(file, path, inline_threshold=0, error="ignore").translate()["refs"]
    with open(references) as file:
        ours = json.load(file)["refs"]
    found = {"": 0}
    for key, piece in ours.items():
        if isinstance(piece, list) and key in theirs and theirs[key] != piece:
            found[key] = [piece, theirs[key]]
        found[""] += theirs.get(key) == piece and isinstance(piece, list)
    return found


def unreachable(references, name):
    """Whether a file that is not there is an error, and no fill value."""
    with xr.open_dataset("reference://", engine="zarr", backend_kwargs={"storage_options": {"fo": references}}) as seen:
        try:
            seen[name].load()
        except Exception as error:
            return {"unreachable": type(error).__name__ == "ReferenceNotReachable" or repr(error)}
    return {"unreachable": False}


def values(references, out, *names):
    with xr.open_dataset("reference://", engine="zarr", mask_and_scale=False,
                         backend_kwargs={"storage_options": {"fo": references}}) as seen:
        np.savez(out, **{name: seen[name].values for name in names})
    return {}


if __name__ == "__main__":
    print(json.dumps({"compare": compare, "kerchunk": kerchunk, "unreachable": unreachable, "values": values}[sys.argv[1]](*sys.argv[2:])))
