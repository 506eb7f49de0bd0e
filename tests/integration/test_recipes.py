# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/recipes.md: each recipe is saved and run as it stands there, and its last lines print what stands behind them."""
import os
import pathlib
import re
import subprocess
import sys

import pytest
from leat_run import BUILD, LIMIT

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/recipes.md").read_text()
COMMON, *PARTS = re.split(r"(?m)^## ", PAGE)
RECIPES = {part.splitlines()[0]: part for part in PARTS}
SAVED = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", re.S)
COMMANDS = re.compile(r"```sh\n(.*?)```", re.S)
AFTERWARDS = re.compile(r"<!-- after -->\n```python\n(.*?)```", re.S)
# What stands in a line behind print(...), two blanks or more and a "#".
PRINTS = re.compile(r"print\(.*\) +# (.*)")


def prepared(folder):
    flags = f"-I{ROOT}/client-api/api -L{BUILD}/lib -lleat".split()
    pc = f"Name: leat\nDescription: of the build\nVersion: 0\nCflags: {flags[0]}\nLibs: {' '.join(flags[1:])}\n"
    (folder / "leat.pc").write_text(pc)
    path = f"{pathlib.Path(sys.executable).parent}:{BUILD}/bin:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "LEAT_RUNTIME_DIR": str(folder / "r"), "LD_LIBRARY_PATH": str(BUILD / "lib"),
            "PKG_CONFIG_PATH": str(folder)}


def run(words, folder, environment):
    done = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done


def follow(text, folder, environment):
    for name, code in SAVED.findall(text):
        (folder / name).write_text(code)
    for commands in COMMANDS.findall(text):
        said = run(["bash", "-euc", commands], folder, environment).stderr
        assert said.count("nothing lost") == commands.count("./"), said


def recipe(title):
    """With what is not there, but in the recipe behind it."""
    own = RECIPES[title]
    return own if COMMANDS.search(own) else own + RECIPES[list(RECIPES)[list(RECIPES).index(title) + 1]]


@pytest.mark.parametrize("title", [title for title, text in RECIPES.items() if SAVED.search(text)])
def test_the_recipe(tmp_path, title):
    environment = prepared(tmp_path)
    text = recipe(title)
    if title == "Stop the run at a NaN":
        text = RECIPES["Store the iteration with a NaN"] + text
    follow(COMMON + text, tmp_path, environment)
    (after,) = AFTERWARDS.findall(text)
    printed = run([sys.executable, "-W", "ignore", "-c", after], tmp_path, environment).stdout.splitlines()
    assert printed == PRINTS.findall(after) and printed


def test_a_number_that_one_rank_has_is_one_of_each_iteration(tmp_path):
    """The three elements of the text, on four ranks, of which the second has the number."""
    environment = {**prepared(tmp_path), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    elements = re.findall(r"`(<[^`]+/>)`", RECIPES["One number per iteration"])
    assert len(elements) == 3
    (tmp_path / "e.xml").write_text('<simulation name="e"><architecture><buffer size="16MiB"/></architecture><data>'
                                    + "".join(elements) + '</data><storage><store name="out" type="hdf5"/></storage></simulation>')
    (tmp_path / "e.c").write_text("""#include <leat_mpi.h>
int main(void) {
  int rank;
  MPI_Init(0, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (leat_init_mpi("e.xml", MPI_COMM_WORLD) != LEAT_OK) { MPI_Finalize(); return 1; }
  for (int step = 0; step < 5; ++step) {
    double energy = -2.5 * step;
    if (rank == 1) leat_write("energy", &energy);
    leat_end_iteration();
  }
  int failed = leat_finalize() != LEAT_OK;
  MPI_Finalize();
  return failed;
}
""")
    run(["bash", "-euc", "mpicc e.c $(pkg-config --cflags --libs leat) -o e; mpirun -n 4 ./e"], tmp_path, environment)
    show = 'import h5py; print(h5py.File("e.h5")["energy_all"][:].tolist())'
    assert run([sys.executable, "-c", show], tmp_path, environment).stdout == "[-0.0, -2.5, -5.0, -7.5, -10.0]\n"


def test_the_lines_for_a_gpu_hand_an_array_over(tmp_path):
    """cudaMemcpy is memcpy here: there is no GPU."""
    environment = prepared(tmp_path)
    follow(COMMON, tmp_path, environment)
    (lines,) = re.findall(r"<!-- gpu -->\n```c\n(.*?)```", RECIPES["Arrays on a GPU"], re.S)
    field = (tmp_path / "field.c").read_text().replace("#include <math.h>", """#include <math.h>
#include <string.h>
#define cudaMemcpyDeviceToHost 0
#define cudaMemcpy(to, from, bytes, kind) memcpy(to, from, bytes + kind)""")
    (tmp_path / "field.c").write_text(field.replace('    leat_write("T", T);\n', lines).replace("T_on_device", "T"))
    (tmp_path / "numbers.xml").write_text(SAVED.search(RECIPES["One number per iteration"])[2])
    run(["bash", "-euc", COMMANDS.search(COMMON)[1] + "./field numbers.xml"], tmp_path, environment)
    show = 'import h5py; print(h5py.File("numbers.h5")["T_max"][40])'
    assert run([sys.executable, "-c", show], tmp_path, environment).stdout == "400.0\n"


def test_the_list_leads_to_all_recipes():
    assert re.findall(r"^- \[(.*?)\]\(#", COMMON, re.M) == list(RECIPES)
