# SPDX-License-Identifier: Apache-2.0
"""Runs with scripts in the form of Damaris, by an XML for Damaris."""
import contextlib
import os
import pathlib
import sys

HEAD = """<?xml version="1.0"?>
<simulation name="run" language="c" xmlns="http://damaris.gforge.inria.fr/damaris/model">
  <architecture>
    <domains count="{domains}"/>
    <dedicated cores="1" nodes="0"/>
    <placement />
    <buffer name="buffer" size="67108864" />
    <queue  name="queue" size="100" />
  </architecture>
  <data>
    <parameter name="W" type="int" value="8" />
    <parameter name="size" type="int" value="1" />
    <layout name="cells" type="int" dimensions="W/size,4,2" global="W,4,2" />
    <layout name="ghosted" type="double" dimensions="4+2" global="W" ghosts="1:1" />
    <layout name="one" type="double" dimensions="1" />
    <variable name="cube_i" layout="cells" script="MyPyAction" />
    <group name="g"><variable name="halo" layout="ghosted" script="MyPyAction,Other" /></group>
    <variable name="array_sum" layout="one" script="MyPyAction" />
    <variable name="axis" layout="one" time-varying="false" script="MyPyAction" />
    <variable name="hidden" layout="one" />
  </data>
  <scripts>
    <pyscript name="MyPyAction" file="script.py" language="python" frequency="{every}" {dask} />
  </scripts>
  <log FileName="log/run" RotationSize="5" LogFormat="[%TimeStamp%]: %Message%" LogLevel="info" Flush="true" />
</simulation>
"""


def config(domains=1, every=1, dask=""):
    return HEAD.format(domains=domains, every=every, dask=dask)


def with_python(folder, python=sys.executable):
    """The environment in which `python3` is this one, as scripts of a Damaris XML name no interpreter."""
    bin_ = pathlib.Path(folder) / "bin"
    bin_.mkdir(exist_ok=True)
    link = bin_ / "python3"
    link.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')  # a link would leave its virtual environment
    link.chmod(0o755)
    return {"PATH": f"{bin_}:{os.environ['PATH']}"}


def log_of(folder):
    return (pathlib.Path(folder) / "log" / "run.log").read_text()


def processes_with(*words, ending=b""):
    """Those whose command line has all of these words, and one that ends so."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if line and set(words) <= set(line) and any(word.endswith(ending) for word in line):
            found.append(int(entry.name))
    return found


def script_processes(run):
    """Processes of scripts of this run: other tests have theirs at the same time."""
    found = []
    for pid in processes_with(b"worker", ending=b"launch.py"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/cwd") == str(run.folder):
                found.append(pid)
    return found
