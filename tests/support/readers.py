# SPDX-License-Identifier: Apache-2.0
"""Other people's tools on whole files: what each of them sees of all variables is compared with what h5py reads."""
import functools
import pathlib
import re
import subprocess

import h5py
import numpy as np
from judges import ROOT, complaints, environment, errors_of_cfchecks
from leat_run import same_bits
from warm_python import warm

# compliance-checker 6.1 takes each axis Y for a latitude, and wants true ones beside those of a plane.
NOT_ON_EARTH = re.compile("l(at|ong)itude variable '.*' should define valid units for l(at|ong)itude|true latitude/longitude")
# A time of a run that has no date is none for CF, and so has no standard name.
NO_DATE = re.compile("Coordinate variable 'time' should have standard_name='time', found: 'None'")
# What CDO says of files with groups, of coordinates that are no places, and of a file without a time.
CDO_SAYS = re.compile("NetCDF4 groups not supported|Coordinates variable .* can't be assigned|: Processed|Unsupported TIMEUNIT")


def run(*words, may_say=None, limit=60):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=limit)
    said = [line for line in done.stderr.splitlines() if not may_say or not may_say.search(line)]
    assert done.returncode == 0 and said == [], (words, done)
    return done.stdout


@functools.cache
def made(tool, *words):
    done = subprocess.run([ROOT / "tools" / tool, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip())


def python_of(name):
    return (environment() if name == "judges" else made("python_environment", ROOT / f"tools/{name}.txt")) / "bin/python"


def values_of(path):
    """{name: array} of all datasets with numbers, each under all its names, but for names of dimensions."""
    found = {}

    def look(group, prefix):
        for name in group:
            if isinstance(group.get(name, getlink=True), h5py.SoftLink):
                continue
            thing = group[name]
            if isinstance(thing, h5py.Group):
                look(thing, f"{prefix}{name}/")
            elif thing.dtype.kind in "fiu" and not thing.attrs.get("NAME", b"").startswith(b"This is a netCDF dimension"):
                found[prefix + name] = thing[()]
    with h5py.File(path) as file:
        look(file, "")
    return found


def in_root(path):
    return {name: values for name, values in values_of(path).items() if "/" not in name}


def expect_copies(path, folder):
    """ncdump, h5dump and h5ls end; what nccopy and h5repack copy has all values, also those for VTK."""
    own = values_of(path)
    assert "group: leat {" in run("ncdump", path)
    listed = run("h5ls", "-r", path)
    assert all(f"/{name} " in listed for name in in_root(path))
    run("h5dump", "-o", "/dev/null", path)
    for copier in (["nccopy", "-M", 10**12], ["h5repack"]):  # see docs/reference/files.md for -M
        run(*copier, path, folder / "copy.h5")
        copy = values_of(folder / "copy.h5")
        assert set(copy) >= set(own)
        for name in own:
            assert same_bits(own[name], copy[name]), (path, copier, name)


def expect_h5dump(path, name, folder):
    run("h5dump", "-d", f"/{name}", "-b", "NATIVE", "-o", folder / "raw", path)
    with h5py.File(path) as file:
        assert (folder / "raw").read_bytes() == file[name][()].tobytes(), name


def expect_nco(path, folder, *options):
    """ncks takes all of the root, and ncra averages."""
    own = in_root(path)
    run("ncks", *options, "-O", "-C", "-v", ",".join(f"/{name}" for name in own), path, folder / "some.nc")
    run("ncra", *options, "-O", path, folder / "mean.nc")
    some, mean = values_of(folder / "some.nc"), in_root(folder / "mean.nc")
    rows = len(own["iteration"])
    for name, values in own.items():
        assert same_bits(values, some[name]), (path, name)
        if values.dtype == np.float64 and len(values) == rows and mean[name].shape[0] == 1:
            assert np.allclose(mean[name][0], values.mean(axis=0), rtol=1e-12), (path, name)


def expect_cdo(path, *fields):
    """It finds these, and has the values of all that it finds."""
    own = in_root(path)
    said = run("cdo", "-s", "showname", path, may_say=CDO_SAYS).splitlines()
    (found,) = [line.split() for line in said if not CDO_SAYS.search(line)]  # in any order: it says some of it in stdout
    assert set(fields) <= set(found) <= set(own), found
    for name in found:
        lines = run("cdo", "-s", "outputf,%.17g,1", f"-selname,{name}", path, may_say=CDO_SAYS).splitlines()
        values = np.array([float(line) for line in lines if not CDO_SAYS.search(line)])
        assert np.array_equal(values, own[name].astype(float).ravel()), (path, name)


def read_with(reader, paths, out):
    """[{variable: values, variable/coordinates: names}], one for each path; see read_with.py."""
    modules = {"plot": ["matplotlib", "xarray", "netCDF4"], "yt": ["h5py", "yt"]}.get(reader, [reader])
    python = warm(python_of("judges" if reader in ("h5netcdf",) else "readers"), *modules)
    done = python.run(ROOT / "tests/support/read_with.py", reader, out, *paths)
    assert done.returncode == 0 and done.stderr == "", done
    found = [{} for _ in paths]
    for key, values in np.load(out).items():
        number, name = key.split(":", 1)
        found[int(number)][name] = values
    return found


def expect_reader(reader, fields, folder):
    """`fields`: {path: names} that it finds at least, with their values; and so all else that it finds in the root."""
    for (path, names), seen in zip(fields.items(), read_with(reader, list(fields), folder / f"{reader}.npz")):
        own = in_root(path)
        assert set(names) <= set(seen), (reader, path, list(seen))
        for name in set(own) & set(seen):
            values = own[name][-1] if reader in ("plot", "yt") else own[name]
            assert np.array_equal(seen[name], values), (reader, path, name)
        yield path, seen


def expect_netcdf_java(paths, but_for="VTKHDF/"):
    """All values, but for those that are shown by virtual datasets, which it does not know."""
    seen = {}
    lines = run("java", "-cp", f"{made('netcdf_java')}/*", ROOT / "tests/support/NetcdfRead.java", *paths, limit=120)
    for line in lines.splitlines():
        path, name, _, values = line.split("\t")
        seen[path, name] = np.array(values.split(), float)
    for path in paths:
        for name, values in values_of(path).items():
            if not name.startswith(but_for):
                assert np.array_equal(seen[str(path), name], values.astype(float).ravel(), equal_nan=True), (path, name)


def expect_cf(path, tables, *accepted):
    """`path` ends with .nc."""
    def is_good(text):
        return any(each.search(text) for each in (NOT_ON_EARTH, *accepted))
    assert [said for said in complaints(path) if not is_good(said[2])] == []
    assert [said for said in errors_of_cfchecks(path, tables) if not is_good(said[1])] == []


def vtk(version, path, out):
    """{name: array} as VTK's reader shows it; see vtk_read.py. version: vtk93 or judges, which has the newest."""
    python = warm(python_of(version), "vtkmodules.util.numpy_support", "vtkmodules.vtkIOHDF")
    done = python.run(ROOT / "tests/support/vtk_read.py", path, out)
    assert done.returncode == 0 and done.stderr == "", done
    return dict(np.load(out))
