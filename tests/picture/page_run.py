# SPDX-License-Identifier: Apache-2.0
"""Runs what a page says, section by section, as its readers would: files that it names are saved, its commands are executed by a shell."""
import os
import pathlib
import re
import shutil
import subprocess

from judges import ROOT
from leat_run import BUILD
from picture_run import debians_python

EXAMPLES = ["heat_c", "shallow_water_fortran", "lammps", "md_tbb", "amr_advection"]
SAVED = re.compile(r"`([\w./]+\.(?:py|c|xml))`:\n\n```\w+\n(.*?)```", re.S)
COMMANDS = re.compile(r"```sh\n(.*?)```", re.S)
SCRIPTS = re.compile(r"<scripts>.*?</scripts>", re.S)
MADE = re.compile(r"!\[[^]]*\]\((\S+\.png)\)\n\n\*`([^`]+\.png)`")  # a picture of the page, and under it the file that it is
SECONDS = 120


def sections(page):
    """{title: text} of those that have commands."""
    parts = re.split(r"^## (.*)\n", page.read_text(), flags=re.M)[1:]
    return {title: text for title, text in zip(parts[::2], parts[1::2]) if COMMANDS.search(text)}


def prepared(folder):
    """A folder with the XML of the examples and what the shell finds them by; (folder, environment)."""
    for name in EXAMPLES:
        for path in (ROOT / "examples" / name).glob("*.xml"):
            shutil.copy(path, folder)
    pc = f"Name: leat\nDescription: of the build\nVersion: 0\nCflags: -I{ROOT}/client-api/api\nLibs: -L{BUILD}/lib -lleat\n"
    (folder / "leat.pc").write_text(pc)
    (folder / "bin").mkdir()
    (folder / "bin/python3").symlink_to(debians_python())  # `leat` and leatd take the python3 of PATH
    path = f"{folder}/bin:{BUILD}/bin:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "LEAT_RUNTIME_DIR": str(folder / "r"), "LD_LIBRARY_PATH": str(BUILD / "lib"),
                   "PKG_CONFIG_PATH": str(folder), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    environment.pop("DISPLAY", None)
    return folder, environment


def run(text, folder, environment, scripts):
    """scripts: element for the XML, if the text has none of its own."""
    own = SCRIPTS.search(text)
    for name, code in SAVED.findall(text):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code)
    for path in folder.glob("*.xml"):
        xml = SCRIPTS.sub("", path.read_text())
        path.write_text(xml.replace("</simulation>", f"{own[0] if own else scripts}\n</simulation>"))
    for commands in COMMANDS.findall(text):
        done = subprocess.run(["bash", "-e", "-c", commands], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=SECONDS)
        assert done.returncode == 0, (commands, done.stdout[-3000:], done.stderr[-3000:])


def pictures(text):
    """{path in docs/pictures: file of the run}"""
    return {pathlib.PurePosixPath(shown).name: made for shown, made in MADE.findall(text)}
