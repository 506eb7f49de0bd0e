# SPDX-License-Identifier: Apache-2.0
"""The command `leat` on a machine that is described, for its verbs about cores."""
import json
import os
import re
import subprocess
from pathlib import Path

REFERENCE = Path(__file__).parents[2] / "docs/reference"
# Two sockets of four cores of two hardware threads, and memory without processors.
MACHINE = json.loads(re.search(r"```json\n(.*?)```", (REFERENCE / "leat-placement.md").read_text(), re.S)[1])


def heat_xml(cores=1, numa="client"):
    return f"""<simulation name="heat">
  <architecture><dedicated cores="{cores}"/><buffer size="64MiB" numa="{numa}"/></architecture>
  <data>
    <layout name="cells" type="double" dimensions="128"/>
    <variable name="t" layout="cells"/>
  </data>
  <storage><store name="out" type="trace"/></storage>
</simulation>
"""


def leat(*arguments, cwd, code=0, **environment):
    done = subprocess.run([os.environ["LEAT_COMMAND"], *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    assert done.returncode == code, done
    return done
