# SPDX-License-Identifier: Apache-2.0
"""Where a wheel has Leat itself: server, command and libraries, as `make install` lays them out.

    python -m leat.tree          prints the folder: PKG_CONFIG_PATH=$(python -m leat.tree)/lib/pkgconfig for a code in C
    leat                         the command: main() becomes it
"""
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "_tree"


def main():
    # Scripts run under the Python that Leat was installed for, also where its environment is not activated.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), *os.environ.get("PATH", "").split(os.pathsep)])
    program = FOLDER / "bin/leat"
    os.execv(program, ["leat", *sys.argv[1:]])


if __name__ == "__main__":
    print(FOLDER)
