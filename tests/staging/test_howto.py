# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/staging-nodes.md as it stands there: the lines that start a run, and a run on nodes that are pretended."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from leat_run import BUILD, LIMIT, same_bits
from machine_command import MACHINE
from stored_blocks import stored_ranks

TREE = pathlib.Path(__file__).parents[2]
PAGE = (TREE / "docs/how-to/staging-nodes.md").read_text()
EXAMPLE = TREE / "examples" / "heat_c"
IS_ROOT = os.geteuid() == 0
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if IS_ROOT else {}


def heat(folder, nodes=2):
    text = (EXAMPLE / "heat.xml").read_text().replace('every="10"', 'every="10" at="staging"')
    (folder / "heat.xml").write_text(text.replace("<buffer", f'<staging nodes="{nodes}"/>\n    <buffer'))


def leat(folder, *words, code=0):
    done = subprocess.run([BUILD / "bin/leat", *words], cwd=folder, capture_output=True, text=True, timeout=2 * LIMIT,
                          env={**os.environ, **ROOT}, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


@pytest.fixture
def folder(tmp_path):
    heat(tmp_path)
    (tmp_path / "node.json").write_text(json.dumps(MACHINE))
    return tmp_path


def test_the_lines_of_the_page_are_those_that_leat_launch_prints(folder):
    example = re.search(r"    \$ leat (launch .*)\n((?:    .*\n)+)", PAGE)
    assert leat(folder, *example[1].split()).stdout == re.sub(r"^    ", "", example[2], flags=re.M)


@pytest.mark.parametrize(("launcher", "staging", "simulation"), [
    ("openmpi", "mpirun -n 2 --map-by ppr:1:node --bind-to none --host STAGING_NODES leat staging heat.xml &",
     "mpirun -n 4 --map-by ppr:2:node --bind-to core --host NODES ./heat"),
    ("mpich", "mpiexec.hydra -n 2 -ppn 1 -bind-to none -hosts STAGING_NODES leat staging heat.xml &", "-hosts NODES ./heat")])
def test_other_launchers_have_two_lines_too(folder, launcher, staging, simulation):
    lines = leat(folder, *f"launch heat.xml -n 4 --nodes 2 --machine node.json --launcher {launcher} -- ./heat".split()).stdout.splitlines()
    assert lines[0] == staging and lines[1].endswith(simulation) and lines[2:] == ["leat staging heat.xml --end", "wait"]


@pytest.mark.parametrize(("job", "nodes"), [("slurm", "#SBATCH --nodes=4"), ("pbs", "select=2:ncpus=8:mpiprocs=2+2:ncpus=8:mpiprocs=1"),
                                            ("sge", "-pe mpi 32")])
def test_a_job_asks_for_the_nodes_of_both(folder, job, nodes):
    launcher = [] if job == "slurm" else ["--launcher", "openmpi"]
    text = leat(folder, *f"launch heat.xml -n 4 --nodes 2 --machine node.json --job {job}".split(), *launcher, "--", "./heat").stdout
    watch = {"slurm": "kill -USR1 $watch\n", "pbs": "", "sge": "trap '' USR1 USR2\nkill -USR1 $watch\n"}[job]
    assert nodes in text and text.endswith(f"\ncode=$?\nleat staging heat.xml --end\n{watch}wait\nexit $code\n")
    watched = "srun --nodes=4 --ntasks=4 --ntasks-per-node=1 --overlap --mpi=none --cpu-bind=none leat recover --watch &"
    assert (watched in text) == (job == "slurm")
    checked = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    names = {"slurm": "", "pbs": 'uniq "$PBS_NODEFILE"', "sge": "cut -d ' ' -f 1 \"$PE_HOSTFILE\" | uniq"}[job]
    assert job == "slurm" or f"--host $({names} | tail -n 2 | paste -s -d ,) leat staging" in text


def test_run_starts_one_line_and_says_so(folder):
    said = leat(folder, *"launch heat.xml -n 1 --run --launcher openmpi -- ./heat".split(), code=1).stderr
    assert "--run starts one line, and <staging> of heat.xml wants nodes of its own" in said


def test_a_run_on_pretended_nodes_has_the_values_of_one_without_staging(tmp_path):
    line = "leat launch heat.xml --pretend-nodes 4 --run -n 8 -- ./heat heat.xml 41"
    assert f"\n    {line}\n" in PAGE
    for folder, is_staged in (("staged", True), ("plain", False)):
        (tmp_path / folder).mkdir()
        if is_staged:
            heat(tmp_path / folder)
        else:
            shutil.copy(EXAMPLE / "heat.xml", tmp_path / folder)
        leat(tmp_path / folder, *line.replace("./heat", str(BUILD / "bin/heat")).split()[1:])
    with h5py.File(tmp_path / "staged/heat.h5") as staged, h5py.File(tmp_path / "plain/heat.h5") as plain:
        assert same_bits(staged["temperature"][:], plain["temperature"][:]) and staged.attrs["lost"] == 0
        assert staged["iteration"][:].tolist() == plain["iteration"][:].tolist()
    assert len(list((tmp_path / "staged").glob("heat.parts/*/rank*.h5"))) == 2
    assert not (tmp_path / "staged/heat.staging").exists()


@pytest.mark.parametrize("place", ["process", "ranks"])
def test_ranks_of_the_last_nodes_are_staging_nodes(tmp_path, place):
    """Servers of the other nodes are processes, or ranks too."""
    (tmp_path / "run.xml").write_text(f"""<simulation name="run">
  <architecture><dedicated cores="1" place="{place}"/><buffer size="16MiB" timeout="20s"/><staging nodes="2" place="ranks"/></architecture>
  <data><layout name="row" type="double" dimensions="512"/><variable name="u" layout="row"/></data>
  <storage><store name="out" type="hdf5" at="staging"/></storage>
</simulation>""")
    leat(tmp_path, *"launch run.xml --pretend-nodes 2 --run -n 4 --".split(), BUILD / "bin/split_rank", "run.xml", "whole", "5")
    served = [path.read_text().splitlines()[1].strip() for path in tmp_path.glob("rank-*")]
    assert served.count("split LEAT_OK") == 4
    assert served.count("split LEAT_SERVED") == (8 if place == "ranks" else 4), served
    with h5py.File(tmp_path / "run.h5") as file:
        for row in range(5):
            for rank, values in stored_ranks(file, "u", row).items():
                assert values.ravel().tolist() == [1000.0 * rank + row + i / 1024 for i in range(512)]
        assert file["iteration"][:].tolist() == list(range(5)) and file.attrs["lost"] == 0
    assert len(list(tmp_path.glob("run.parts/*/rank*.h5"))) == 2


def test_dedicated_nodes_of_damaris_are_staging_nodes(tmp_path):
    text = (TREE / "tests/damaris_api/fields.xml").read_text()
    changed = text.replace('<dedicated cores="0" nodes="0" />', '<dedicated cores="0" nodes="1" />')
    assert changed != text
    (tmp_path / "fields.xml").write_text(changed)
    leat(tmp_path, *"launch fields.xml --pretend-nodes 2 --run -n 2 --".split(), BUILD / "bin/damaris_fields", "fields.xml", "3")
    # FileMode="Collective" on several nodes: one file of the run.
    assert [path.name for path in tmp_path.glob("*.h5")] == ["fields.h5"]
    with h5py.File(tmp_path / "fields.h5") as file:
        for step in range(3):
            wanted = np.array([[1000. * step + y + 0.01 * x for x in range(8)] for y in range(12)])
            assert same_bits(file["fields/u"][step], wanted)
