# SPDX-License-Identifier: Apache-2.0
"""After `make install` the commands of the README work as they are printed: on a bare Debian, whose /usr/local and linker's
cache are the test's own, and elsewhere with the lines that `make install` prints; with nothing else in the environment."""
import os
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import sh

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "README.md").read_text()
COMMANDS = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.S))
READING = re.search(r"```python\n(import h5py.*?)```", PAGE, re.S)[1]
PRELOADED = "\nLD_PRELOAD=libleat_pmpi.so true\n"  # says what it does not find
# A mount namespace of our own: /usr/local is empty in it, and what ldconfig writes is a copy.
BARE = """
mount -t tmpfs tmpfs /usr/local
mkdir "$1/etc" && cp -a /etc/. "$1/etc" && mount --bind "$1/etc" /etc
mount -t tmpfs tmpfs /var/cache/ldconfig 2>/dev/null || true
ldconfig
cd "$2" && make -s -o build install PREFIX=/usr/local
cd "$1/user"
exec env -i HOME="$1/user" PATH=/usr/local/bin:/usr/bin:/bin sh -euc "$3"
"""
NAMESPACE = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() != 0 else [])]


@pytest.fixture
def user(tmp_path):
    """An empty home with the program of the README."""
    (tmp_path / "user").mkdir()
    for name, text in re.findall(r"`(first\.\w+)`:\n\n```\w+\n(.*?)```", PAGE, re.S):
        (tmp_path / "user" / name).write_text(text)
    return tmp_path / "user"


def expect_the_numbers_of_the_readme(user):
    assert sh(sys.executable, "-c", READING, cwd=user) == "(20, 100) m\n7.25\n"


def test_after_make_install_as_root_the_commands_of_the_readme_work_as_printed(user):
    if subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/usr/local"], capture_output=True).returncode != 0:
        pytest.skip("no mount namespaces here")
    said = sh(*NAMESPACE, "sh", "-euc", BARE, "sh", user.parent, ROOT, COMMANDS + PRELOADED, cwd=user)
    assert "cannot be preloaded" not in said
    assert "Leat is installed in /usr/local, where shell, pkg-config and linker find it." in said
    expect_the_numbers_of_the_readme(user)


def test_elsewhere_the_lines_that_make_install_prints_are_those_of_the_readme_and_are_enough(user):
    prefix = user / "leat"
    bare = {"HOME": str(user), "PATH": "/usr/bin:/bin"}
    said = subprocess.run(["make", "-s", "-o", "build", "install", f"PREFIX={prefix}"], cwd=ROOT, env=bare, check=True,
                          capture_output=True, text=True).stdout
    lines = re.findall(r"^    (export .*)$", said, re.M)
    assert lines == [line.replace("$HOME", str(user)) for line in re.findall(r"^    (export .*)$", PAGE, re.M)]
    commands = "\n".join(lines) + "\n" + COMMANDS + PRELOADED
    done = subprocess.run(["sh", "-euc", commands], cwd=user, env=bare, capture_output=True, text=True)
    assert done.returncode == 0 and "cannot be preloaded" not in done.stderr, done.stdout + done.stderr
    expect_the_numbers_of_the_readme(user)
