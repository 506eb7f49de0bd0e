# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/clusters.md: its job files are those that `leat launch` prints, and its modules file is loaded."""
import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest
from leat_run import BUILD
from machine_command import MACHINE, heat_xml

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/clusters.md").read_text()
EXAMPLES = re.findall(r"^    \$ leat (launch .*)\n((?:    .*\n)+)", PAGE, re.M)
JOB_FILES = re.findall(r"^    (#!/bin/bash\n(?:    .*\n)+)", PAGE, re.M)


def shell(line, **environment):
    done = subprocess.run(["bash", "-c", line], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.parametrize(("line", "printed"), EXAMPLES, ids=[line.split("--machine")[1][11:] for line, _ in EXAMPLES])
def test_leat_launch_prints_what_the_page_shows(tmp_path, line, printed):
    (tmp_path / "heat.xml").write_text(heat_xml(cores=1))
    (tmp_path / "node.json").write_text(json.dumps(MACHINE))
    done = subprocess.run([BUILD / "bin/leat", *shlex.split(line)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done
    assert done.stdout == re.sub(r"^    ", "", printed, flags=re.M)


def test_all_job_files_are_scripts_and_those_by_hand_have_the_ranks_of_the_others():
    assert len(EXAMPLES) == 4 and len(JOB_FILES) == 5
    for text in JOB_FILES:
        subprocess.run(["bash", "-n"], input=re.sub(r"^    ", "", text, flags=re.M), text=True, check=True)
    assert PAGE.count("mpirun -n 14 --map-by ppr:7:node --bind-to core ./heat heat.xml") == 4


def test_the_modules_file_leads_to_leat(tmp_path):
    (text,) = re.findall(r"```tcl\n(.*?)```", PAGE, re.S)
    assert "set prefix /opt/leat\n" in text
    (tmp_path / "leat").mkdir()
    (tmp_path / "leat/0.1.0").write_text(text.replace("/opt/leat", str(BUILD)))
    load = ('eval "$(modulecmd bash load leat)"; leat --version; command -v leat; '
            'echo "$LD_LIBRARY_PATH" "$PKG_CONFIG_PATH" "$CMAKE_PREFIX_PATH" "$MANPATH"')
    said = shell(load, MODULEPATH=str(tmp_path), LD_LIBRARY_PATH="", PKG_CONFIG_PATH="", CMAKE_PREFIX_PATH="", MANPATH="").splitlines()
    assert re.match(r"leat \d", said[0]) and said[1] == str(BUILD / "bin/leat"), said
    assert [word.rstrip(":") for word in said[2].split()] == [f"{BUILD}{end}" for end in ("/lib", "/lib/pkgconfig", "", "/share/man")]
