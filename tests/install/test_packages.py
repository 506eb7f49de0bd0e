# SPDX-License-Identifier: Apache-2.0
"""What `make deb` makes of the built tree: packages that have all of it, each file once, and that bring no more than they need."""
import os
import pathlib
import re
import subprocess

import pytest
from conftest import sh
from leat_run import BUILD

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
NAMES = {"libleat", "leat-server", "libleat-fortran", "libleat-damaris", "libleat-dev", "python3-leat"}


def read(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """name: file"""
    folder = tmp_path_factory.mktemp("deb")
    sh(ROOT / "tools/packages/make_deb", BUILD, folder, cwd=ROOT)
    return {file.name.split("_")[0]: file for file in folder.glob("*.deb")}


@pytest.fixture(scope="module")
def unpacked(packages, tmp_path_factory):
    root = tmp_path_factory.mktemp("unpacked")
    for file in packages.values():
        sh("dpkg-deb", "--extract", file, root, cwd=root)
    return root


@pytest.fixture()
def as_if_installed(unpacked, environment):
    usr = unpacked / "usr"
    return {**environment, "PATH": f"{usr}/bin:/usr/bin:/bin", "PKG_CONFIG_PATH": f"{usr}/lib/pkgconfig",
            "LD_LIBRARY_PATH": f"{usr}/lib", "PYTHONPATH": f"{usr}/lib/python3/dist-packages"}


def files_of(package):
    lines = read("dpkg-deb", "--contents", package).splitlines()
    return [line.split()[5].removeprefix("./usr/") for line in lines if not line.startswith("d")]


def depends(package):
    words = read("dpkg-deb", "--field", package, "Depends").strip()
    return {re.sub(r"[ :(].*", "", word) for word in re.split(r",\s*", words)}


def test_there_is_each_package_and_no_file_is_in_two(packages):
    assert set(packages) == NAMES
    files = [file for package in packages.values() for file in files_of(package)]
    assert len(files) > 300 and len(files) == len(set(files))


def test_all_that_make_install_installs_is_in_a_package(packages, installed):
    packed = {file.removesuffix(".gz") for package in packages.values() for file in files_of(package)}
    wanted = {str(file.relative_to(installed)).replace("zsh/site-functions", "zsh/vendor-completions")
              for file in installed.rglob("*") if file.is_symlink() or file.is_file()}
    assert len(wanted) > 300 and not wanted - packed


def test_libleat_needs_the_c_library_alone_and_mpi_comes_with_damaris_alone(packages):
    assert depends(packages["libleat"]) == {"libc6"}
    assert {name for name in NAMES if "mpi" in " ".join(depends(packages[name]))} == {"libleat-damaris"}
    assert {"libhdf5-103-1", "libxerces-c3.2", "libleat"} <= depends(packages["leat-server"])


def test_lintian_finds_no_error(packages):
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", *packages.values()], capture_output=True, text=True)
    assert done.returncode == 0 and "E: " not in done.stdout, done.stdout + done.stderr


def test_the_first_program_of_the_readme_is_built_and_runs(as_if_installed, tmp_path):
    for name, text in re.findall(r"`(first\.\w+)`:\n\n```\w+\n(.*?)```", README, re.S):
        (tmp_path / name).write_text(text)
    sh("sh", "-euc", "".join(re.findall(r"```sh\n(.*?)```", README, re.S)), cwd=tmp_path, environment=as_if_installed)
    reading = re.search(r"```python\n(import h5py.*?)```", README, re.S)[1]
    assert sh("/usr/bin/python3", "-c", reading, cwd=tmp_path) == "(20, 100) m\n7.25\n"
    assert os.path.exists(tmp_path / "first.h5")


def test_a_simulation_in_python_runs_with_the_package_of_python(as_if_installed, unpacked, tmp_path):
    for name in ("heat.py", "heat.xml"):
        (tmp_path / name).write_text((ROOT / "examples/heat_python" / name).read_text())
    sh("/usr/bin/python3", "heat.py", "heat.xml", "21", cwd=tmp_path, environment=as_if_installed)
    said = sh("/usr/bin/python3", "-c", "import leat; print(leat.__file__, leat.open('heat.h5')['temperature'].shape[0])", cwd=tmp_path,
              environment=as_if_installed)
    assert said.startswith(str(unpacked)) and said.split()[-1] == "3"
