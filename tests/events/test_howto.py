# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/events.md: its program, XML, script and plugin, as they stand there."""
import os
import pathlib
import re
import subprocess
import sys

import h5py
import pytest
from leat_run import BUILD

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/events.md").read_text()
PARTS = {language: re.search(rf"```{language}\n(.*?)```", PAGE, re.S)[1] for language in ("c", "xml", "python", "cpp")}


def built(folder):
    """The page's files in the folder, its program and plugin compiled."""
    for name, language in {"plate.c": "c", "plate.xml": "xml", "tip.py": "python", "mine.cpp": "cpp"}.items():
        (folder / name).write_text(PARTS[language])
    (folder / "leat").symlink_to(ROOT / "server/include")
    flags = ["-Wall", "-Wextra", "-Werror"]
    leat = [f"-I{ROOT}/client-api/api", f"-L{BUILD}/lib", "-lleat", f"-Wl,-rpath,{BUILD}/lib"]
    subprocess.run(["cc", *flags, "plate.c", *leat, "-o", "plate"], cwd=folder, check=True)
    subprocess.run(["c++", *flags, "-std=c++17", "-shared", "-fPIC", "mine.cpp", "-I.", "-o", "mine.so"], cwd=folder, check=True)


def run(folder):
    environment = {**os.environ, "LEAT_RUNTIME_DIR": str(folder / "r"), "PATH": f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin"}
    done = subprocess.run(["./plate"], cwd=folder, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("more", [False, True])
def test_the_page_is_followed_word_by_word(tmp_path, more):
    built(tmp_path)
    if more:
        xml = (tmp_path / "plate.xml").read_text()
        xml = xml.replace("</storage>", '<store name="mine" library="./mine.so"/></storage>')
        event = re.search(r'`(<event name="crack" plugin="mine"/>)`', PAGE)[1]
        (tmp_path / "plate.xml").write_text(xml.replace('<event name="crack" store="full"/>', event))
    log = run(tmp_path)
    with h5py.File(tmp_path / "plate.h5") as file:
        assert file["iteration"][:].tolist() == (list(range(6)) if more else [2, 4])
    for load in (23, 43):
        assert f"largest load {load}.0 signalled by rank 0" in log
    assert [f"crack of rank 0 in iteration {i}" in log for i in (2, 4)] == [more, more]


def test_attributes_of_the_page_are_those_of_the_xml(tmp_path):
    built(tmp_path)
    events = re.findall(r"`(<event [^`]*?)`", PAGE.replace("\n", " "))
    assert len(events) == 3
    for event in events:
        text = PARTS["xml"].replace("</storage>", '<store name="mine" library="./mine.so"/></storage>')
        event = event if event.endswith("/>") else event.replace(">", "/>")
        (tmp_path / "plate.xml").write_text(text.replace('<event name="crack" store="full"/>', event))
        checked = subprocess.run([BUILD / "bin/leat", "check", "plate.xml"], cwd=tmp_path, capture_output=True, text=True,
                                 env={**os.environ, "PATH": f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin"})
        assert checked.returncode == 0, checked.stdout + checked.stderr
