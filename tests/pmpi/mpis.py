# SPDX-License-Identifier: Apache-2.0
"""Both MPIs of the machine: programs compiled and run with them as users do it."""
import os
import pathlib
import subprocess

from leat_run import BUILD, LIMIT

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
LIBRARY = BUILD / "lib/libleat_pmpi.so"
DOUBLE = BUILD / "lib/leat/tests/phases_double.so"
NAMES = ("openmpi", "mpich")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


def do(*words, cwd, must=True, limit=LIMIT, **environment):
    done = subprocess.run([str(word) for word in words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit,
                          env={**os.environ, **AS_ROOT, "LEAT_RUNTIME_DIR": str(cwd / "r"), **environment})
    assert done.returncode == 0 or not must, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Mpi:
    """One of them, and the programs that were compiled with it."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder

    def compile(self, source, *flags, as_=None):
        program = self.folder / (as_ or source.split(".")[0])
        if not program.exists():
            compiler = "mpif90" if source.endswith("90") else "mpicc"
            leat = ("-I", ROOT / "client-api/api", "-L", BUILD / "lib", f"-Wl,-rpath,{BUILD}/lib")
            do(f"{compiler}.{self.name}", "-o", program, HERE / source, "-w", *leat, *flags, cwd=self.folder)
        return program

    def command(self, ranks, program, *arguments, preload=(LIBRARY,), **environment):
        """Ranks alone have what is preloaded, and not their launcher."""
        said = {"LD_PRELOAD": ":".join(map(str, preload)), **environment}
        oversubscribe = ("--oversubscribe",) if self.name == "openmpi" else ()
        return [f"mpirun.{self.name}", *oversubscribe, "-n", ranks, "env", *(f"{key}={value}" for key, value in said.items()),
                program, *arguments]

    def run(self, ranks, *words, cwd, must=True, **more):
        return do(*self.command(ranks, *words, **more), cwd=cwd, must=must)
