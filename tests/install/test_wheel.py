# SPDX-License-Identifier: Apache-2.0
"""What `make wheel` makes of the built tree: pip installs it alone into an empty environment, where a simulation in Python runs, the
command works, and nothing is taken of this machine but what manylinux says is on each."""
import os
import pathlib
import re
import subprocess
import zipfile

import h5py
import pytest
from conftest import sh
from leat_run import BUILD

ROOT = pathlib.Path(__file__).parents[2]
HEAT = ROOT / "examples/heat_python"
FIRST = ROOT / "tests/install/consumer"
OF_EVERY_LINUX = {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1", "libexpat.so.1"}


@pytest.fixture(scope="module")
def builder():
    """The Python that has what wheels are built with."""
    made = subprocess.run([ROOT / "tools/python_environment", ROOT / "tools/wheel.txt"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return pathlib.Path(made.stdout.strip()) / "bin/python"


@pytest.fixture(scope="module")
def wheel(builder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    sh(builder, ROOT / "tools/packages/make_wheel", BUILD, folder, cwd=ROOT)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def programs(builder, wheel, tmp_path_factory):
    """bin of an environment that had nothing before."""
    environment = tmp_path_factory.mktemp("an environment") / "venv"
    sh(builder, "-m", "venv", environment, cwd=wheel.parent)
    sh(environment / "bin/pip", "install", "--quiet", wheel, cwd=wheel.parent)
    return environment / "bin"


@pytest.fixture()
def alone(environment):
    """Neither the Leat of this machine nor its environment of Python is in the way."""
    return {**environment, "PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "", "PYTHONPATH": ""}


def tree(programs, alone):
    return pathlib.Path(sh(programs / "python", "-m", "leat.tree", cwd="/", environment=alone).strip())


def test_the_wheel_is_small_and_says_where_it_runs(wheel):
    assert wheel.stat().st_size <= 15e6
    assert re.fullmatch(r"leat-[\d.]+-cp3\d+-cp3\d+-manylinux_2_\d+_x86_64\.whl", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert len([name for name in names if "/licences/" in name]) > 10


def test_it_needs_nothing_of_this_machine_but_what_is_on_each_linux(programs, alone):
    packages = tree(programs, alone).parents[1]
    files = [file for folder in ("leat", "leat.libs") for file in (packages / folder).rglob("*")
             if file.is_file() and file.read_bytes()[:4] == b"\x7fELF"]
    assert len(files) > 25
    lines = [line.strip() for file in files for line in sh("ldd", file, cwd="/").splitlines() if " => " in line]
    found = {line.split(" => ")[0]: line for line in lines}
    elsewhere = {name for name, line in found.items() if str(packages) not in line}
    assert elsewhere <= OF_EVERY_LINUX and not [name for name in found if "mpi" in name and "leat" not in name]


def test_a_simulation_in_python_runs_and_stores(programs, alone, tmp_path):
    for name in ("heat.py", "heat.xml"):
        (tmp_path / name).write_text((HEAT / name).read_text())
    sh(programs / "python", "heat.py", "heat.xml", 21, cwd=tmp_path, environment=alone)
    with h5py.File(tmp_path / "heat.h5") as file:
        assert file["iteration"][:].tolist() == [0, 10, 20]
        assert file["temperature"].shape == (3, 64, 48)


def test_a_code_in_c_is_built_against_it(programs, alone, tmp_path):
    (tmp_path / "leat").symlink_to(tree(programs, alone))
    lib = tmp_path / "leat/lib"
    (tmp_path / "first.xml").write_text((FIRST / "first.xml").read_text())
    paths = {**alone, "PKG_CONFIG_PATH": str(lib / "pkgconfig"), "LD_LIBRARY_PATH": str(lib)}
    sh("sh", "-euc", f"cc {FIRST}/first.c $(pkg-config --cflags --libs leat) -o first; ./first", cwd=tmp_path, environment=paths)
    with h5py.File(tmp_path / "first.h5") as file:
        assert file["wave"].shape == (20, 100)


def test_the_doctor_finds_server_hdf5_and_python(programs, alone, tmp_path):
    done = subprocess.run([programs / "leat", "doctor"], cwd=tmp_path, env=alone, capture_output=True, text=True)
    said = done.stdout
    assert done.returncode in (0, 1) and re.search(r"ok +server +\S.*/leat/_tree/bin/leatd", said), said + done.stderr
    assert re.search(r"ok +HDF5 +1\.\d+\.\d+ compresses by gzip", said) and f"{programs}/python3" in said


def test_commands_that_become_programs_beside_the_plugins_work(programs, alone, tmp_path):
    (tmp_path / "first.xml").write_text((FIRST / "first.xml").read_text())
    said = sh(programs / "leat", "check", "first.xml", cwd=tmp_path, environment=alone)
    assert "wave" in said
    with h5py.File(tmp_path / "strange.h5", "w") as file:
        file["a"] = 1
    done = subprocess.run([programs / "leat", "recover", "strange.h5"], cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert "strange.h5" in done.stdout + done.stderr and "No such file" not in done.stderr


UNITS = """<simulation name="units"><architecture><buffer size="16MiB"/></architecture><data>
<layout name="line" type="double" dimensions="10"/><variable name="u" layout="line" unit="m/s"/>
<variable name="a" expr="u" unit-out="{unit}"/></data><storage><store name="out" type="hdf5"/></storage></simulation>"""


@pytest.mark.parametrize("unit, knows", [("km/h", "km/h"), ("K", '"m/s" is not converted to "K"')])
def test_units_are_known_where_the_system_has_no_table_of_them(programs, alone, tmp_path, unit, knows):
    (tmp_path / "units.xml").write_text(UNITS.format(unit=unit))
    script = 'mount -t tmpfs tmpfs /usr/share/xml && [ ! -e /usr/share/xml/udunits ] && exec "$1" check units.xml'
    space = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() != 0 else [])]
    done = subprocess.run([*space, "sh", "-c", script, "sh", programs / "leat"], cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert knows in done.stdout + done.stderr and ("error" in done.stdout + done.stderr) == (unit == "K")
