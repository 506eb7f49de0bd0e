# SPDX-License-Identifier: Apache-2.0
"""The whole command `leat launch`: its lines on described machines, and what launchers of this machine make of them."""
import json
import os
import re
import shlex
import shutil
import subprocess

import pytest
from machine_command import MACHINE, REFERENCE, heat_xml, leat

PAGE = (REFERENCE / "leat-launch.md").read_text()
# As some firmware numbers them: over the sockets in turns, and both threads of a core one after the other.
IN_TURNS = {"leat_machine": 1, "nodes": [{"cpus": "0-1,4-5,8-9,12-13", "memory_mib": 1024},
                                         {"cpus": "2-3,6-7,10-11,14-15", "memory_mib": 1024}],
            "cores": ["0-1", "2-3", "4-5", "6-7", "8-9", "10-11", "12-13", "14-15"]}
CPUSET = {**MACHINE, "allowed": "2-5,10-13"}
MACHINES = {"two_sockets": MACHINE, "in_turns": IN_TURNS, "cpuset": CPUSET}
LAUNCHERS = ["openmpi", "mpich", "slurm"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "heat.xml").write_text(heat_xml(cores=1))
    (tmp_path / "node.json").write_text(json.dumps(MACHINE))
    return tmp_path


def launch(folder, *arguments, program=("./heat", "heat.xml"), code=0, **environment):
    done = leat("launch", "heat.xml", *arguments, "--", *program, cwd=folder, code=code, **environment)
    return done.stdout if code == 0 else done.stderr


def described(folder, *arguments, **more):
    return launch(folder, "--machine", "node.json", *arguments, **more)


def cpus_of(text):
    """The set that "0-3,8" writes."""
    ends = [[int(n) for n in part.split("-")] for part in text.split(",")]
    return frozenset(cpu for first, *last in ends for cpu in range(first, (last or [first])[0] + 1))


def cores_of(machine):
    """In the order of hwloc, memory node by memory node, those processors of each that a job may use."""
    of_node = [cpus_of(node["cpus"]) for node in machine["nodes"] if "cpus" in node]
    allowed = cpus_of(machine["allowed"]) if "allowed" in machine else frozenset().union(*of_node)
    cores = [cpus_of(core) & allowed for core in machine["cores"]]
    return [core for node in of_node for core in sorted(cores, key=sorted) if core and core <= node]


def bound_by(line, machine):
    """Processors of each rank of a node, as the launcher reads the line."""
    if found := re.search(r" -bind-to user:(\S+) ", line):
        return [frozenset(map(int, rank.split("+"))) for rank in found[1].split(",")]
    if found := re.search(r" --cpu-bind=mask_cpu:(\S+) ", line):
        masks = [int(mask, 16) for mask in found[1].split(",")]
        return [frozenset(cpu for cpu in range(1024) if mask >> cpu & 1) for mask in masks]
    found = re.search(r" --map-by ppr:(\d+):node --bind-to core ", line)
    return cores_of(machine)[:int(found[1])]


def test_the_whole_line_of_each_launcher(folder):
    def line(launcher, *arguments):
        return described(folder, "--launcher", launcher, *arguments)

    assert line("openmpi", "-n", 7) == "mpirun -n 7 --map-by ppr:7:node --bind-to core ./heat heat.xml\n"
    assert line("mpich", "-n", 7) == ("mpiexec.hydra -n 7 -ppn 7 -bind-to user:0+8,1+9,2+10,3+11,4+12,5+13,6+14 "
                                      "./heat heat.xml\n")
    assert line("slurm", "-n", 7) == (
        "srun --nodes=1 --ntasks=7 --ntasks-per-node=7 --distribution=block --kill-on-bad-exit=1 "
        "--cpu-bind=mask_cpu:0x101,0x202,0x404,0x808,0x1010,0x2020,0x4040 ./heat heat.xml\n")
    # What does not come out even: the last node has fewer.
    uneven = ("-n", 15, "--nodes", 4)
    assert line("openmpi", *uneven) == "mpirun -n 15 --map-by ppr:4:node --bind-to core ./heat heat.xml\n"
    assert line("mpich", *uneven) == "mpiexec.hydra -n 15 -ppn 4 -bind-to user:0+8,1+9,2+10,3+11 ./heat heat.xml\n"
    assert line("slurm", *uneven) == (
        "srun --nodes=4 --ntasks=15 --ntasks-per-node=4 --distribution=block --kill-on-bad-exit=1 "
        "--cpu-bind=mask_cpu:0x101,0x202,0x404,0x808 ./heat heat.xml\n")


@pytest.mark.parametrize("how", ["XML", "environment"])
def test_ranks_that_become_servers_are_started_too_and_get_their_cores(folder, how):
    environment = {} if how == "XML" else {"LEAT_PLACE": "ranks"}
    place = ' place="ranks"' if how == "XML" else ""
    (folder / "heat.xml").write_text(heat_xml(cores=2).replace('cores="2"', f'cores="2"{place}'))

    def line(launcher, *arguments):
        return described(folder, "--launcher", launcher, *arguments, **environment)

    assert line("openmpi", "-n", 6) == "mpirun -n 8 --map-by ppr:8:node --bind-to core ./heat heat.xml\n"
    assert line("mpich", "-n", 9, "--nodes", 3) == "mpiexec.hydra -n 15 -ppn 5 -bind-to user:0+8,1+9,2+10,3+11,4+12 ./heat heat.xml\n"
    assert "--ntasks=7 --ntasks-per-node=7 " in line("slurm", "-n", 5)
    assert "so 6 ranks fit" in described(folder, "-n", 7, "--launcher", "openmpi", code=1, **environment)


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("name", MACHINES)
def test_the_line_leaves_free_what_the_server_takes(folder, name, cores, launcher):
    machine = MACHINES[name]
    (folder / "node.json").write_text(json.dumps(machine))
    (folder / "heat.xml").write_text(heat_xml(cores=cores))
    all_cores = cores_of(machine)
    for ranks in range(1, len(all_cores) - cores + 1):
        bound = bound_by(described(folder, "-n", ranks, "--launcher", launcher), machine)
        assert len(bound) == ranks == len(set(bound))
        assert all(cpus in all_cores for cpus in bound)
        given = [word for cpus in bound for word in ("--rank-cpus", ",".join(map(str, cpus)))]
        words = ("placement", "--machine", "node.json", "--xml", "heat.xml", *given, "--json")
        whole = json.loads(leat(*words, cwd=folder).stdout)
        free = frozenset().union(*all_cores) - frozenset().union(*bound)
        server = cpus_of(whole["server"]["cpus"])
        assert whole["warnings"] == [] and whole["server"]["cores"] == cores
        assert server == free if ranks == len(all_cores) - cores else server <= free


@pytest.mark.parametrize("name", MACHINES)
def test_leat_placement_shows_the_ranks_where_the_line_puts_them(folder, name):
    (folder / "node.json").write_text(json.dumps(MACHINES[name]))
    shown = json.loads(leat("placement", "--machine", "node.json", "--ranks", 3, "--json", cwd=folder).stdout)
    for launcher in LAUNCHERS:
        line = described(folder, "-n", 3, "--launcher", launcher)
        assert bound_by(line, MACHINES[name]) == [cpus_of(rank["cpus"]) for rank in shown["ranks"]]


def test_processors_with_large_numbers(folder):
    nodes = [{"cpus": "3,64,1023", "memory_mib": 1}]
    (folder / "node.json").write_text(json.dumps({"leat_machine": 1, "nodes": nodes}))
    assert "-bind-to user:3,64 " in described(folder, "-n", 2, "--launcher", "mpich")
    assert "mask_cpu:0x8,0x10000000000000000 " in described(folder, "-n", 2, "--launcher", "slurm")


def test_the_program_is_passed_as_it_is(folder):
    words = ("./my heat", "-n", "3", "it's", "$HOME", "", "--", "--run", "*")
    line = described(folder, "-n", 2, "--launcher", "openmpi", program=words)
    assert shlex.split(line)[-len(words):] == list(words)
    shown = subprocess.check_output(["sh", "-c", line.replace("mpirun", "printf '%s|'", 1)], text=True)
    assert shown.split("|")[6:-1] == list(words)


def test_job_files(folder):
    def within(line, nodes=2):
        """Beside it, what stores the data of killed servers; the job ends with the code of the line."""
        watch = f"srun --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 --overlap --mpi=none --cpu-bind=none leat recover --watch &\n"
        return f"{watch}watch=$!\n{line}code=$?\nkill -USR1 $watch\nwait\nexit $code\n"

    asked = ("-n", 14, "--nodes", 2)
    slurm = described(folder, *asked, "--job", "slurm")
    assert slurm == ("#!/bin/bash\n#SBATCH --job-name=heat\n#SBATCH --nodes=2\n#SBATCH --ntasks=14\n"
                     "#SBATCH --ntasks-per-node=7\n#SBATCH --exclusive\n#SBATCH --mem=0\n" +
                     within(described(folder, *asked, "--launcher", "slurm")))
    pbs = described(folder, *asked, "--job", "pbs", "--launcher", "mpich")
    assert pbs == ("#!/bin/bash\n#PBS -N heat\n#PBS -l select=2:ncpus=8:mpiprocs=7\n#PBS -l place=scatter:excl\n"
                   'cd "$PBS_O_WORKDIR" || exit\n' + described(folder, *asked, "--launcher", "mpich"))
    assert described(folder, *asked, "--job", "slurm", "--launcher", "openmpi").endswith(
        within(described(folder, *asked, "--launcher", "openmpi")))
    for text in (slurm, pbs, grid_engine_job(folder, "openmpi"), grid_engine_job(folder, "mpich")):
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def grid_engine_job(folder, launcher, nodes=2):
    return described(folder, "-n", 7 * nodes, "--nodes", nodes, "--job", "sge", "--launcher", launcher)


@pytest.mark.parametrize(("launcher", "on_each"), [("openmpi", "mpirun -n 2 --map-by ppr:1:node --bind-to none "),
                                                   ("mpich", "mpiexec.hydra -n 2 -ppn 1 -bind-to none ")])
def test_job_files_of_grid_engine(folder, launcher, on_each):
    def expected(slots, watch, line):
        return (f"#!/bin/bash\n#$ -N heat\n#$ -S /bin/bash\n#$ -cwd\n#$ -notify\n#$ -pe mpi {slots}\ntrap '' USR1 USR2\n"
                f"{watch}leat recover --watch &\nwatch=$!\ntrap : USR1 USR2\n{line}code=$?\ntrap '' USR1 USR2\n"
                "kill -USR1 $watch\nwait\nexit $code\n")

    line = described(folder, "-n", 14, "--nodes", 2, "--launcher", launcher)
    assert grid_engine_job(folder, launcher) == expected(16, on_each, line)
    line = described(folder, "-n", 7, "--launcher", launcher)
    assert grid_engine_job(folder, launcher, nodes=1) == expected(8, "", line)


@pytest.mark.parametrize("arguments, cores, message", [
    (["-n", 8], 1, "8 ranks on a node of node.json: heat.xml gives 1 core of it to the server, so 7 ranks fit; "
                   "say --nodes 2, or -n 7"),
    (["-n", 40, "--nodes", 4], 2, "10 ranks on a node of node.json: heat.xml gives 2 cores of it to the server, "
                                  "so 6 ranks fit; say --nodes 7, or -n 24"),
    (["-n", 1], 8, "1 rank on a node of node.json: heat.xml gives 8 cores of it to the server, "
                   "and no other is left; give fewer in"),
    (["-n", 2**31], 1, "2147483648 ranks on a node of node.json"),
    (["-n", 5, "--nodes", 4], 1, "-n 5 --nodes 4: with 2 ranks on a node, 3 nodes are enough; say --nodes 3"),
    (["-n", 1, "--nodes", 4], 1, "-n 1 --nodes 4: with 1 rank on a node, 1 node is enough; say --nodes 1"),
    (["-n", 1, "--machine", "none.json"], 1, "none.json: no such file; to have it, type on such a node: "
                                             "leat placement --describe > none.json")])
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_what_does_not_fit_is_said_with_what_does(folder, launcher, arguments, cores, message):
    (folder / "heat.xml").write_text(heat_xml(cores=cores))
    said = described(folder, *arguments, "--launcher", launcher, code=1)
    assert said.startswith("leat launch: " + message), said


def test_what_the_message_says_works(folder):
    for ranks in range(1, 60):
        if ranks > 7:
            nodes = re.search(r"say --nodes (\d+),", described(folder, "-n", ranks, "--launcher", "slurm", code=1))[1]
            described(folder, "-n", ranks, "--nodes", nodes, "--launcher", "slurm")


def test_nodes_of_several_kinds(folder):
    (folder / "small.json").write_text(json.dumps(CPUSET))
    both = ("-n", 3, "--machine", "small.json")
    assert "--map-by ppr:3:node " in described(folder, *both, "--launcher", "openmpi")
    said = described(folder, *both, "--launcher", "slurm", code=1)
    assert "ranks are on other processors of small.json than of node.json" in said and "--launcher openmpi" in said
    assert "4 ranks on a node of small.json" in described(folder, "-n", 4, *both[2:], "--launcher", "openmpi", code=1)
    (folder / "alike.json").write_text(json.dumps({**MACHINE, "name": "n2"}))
    described(folder, "-n", 3, "--machine", "alike.json", "--launcher", "slurm")


def test_errors_in_the_xml_and_in_the_machine(folder):
    (folder / "heat.xml").write_text(heat_xml(cores=1).replace('layout="cells"', 'layout="cell"'))
    assert 'did you mean "cells"?' in described(folder, "-n", 1, "--launcher", "slurm", code=1)
    (folder / "heat.xml").write_text(heat_xml(cores=1))
    (folder / "node.json").write_text("{")
    assert "node.json: it is no JSON" in described(folder, "-n", 1, "--launcher", "slurm", code=1)


def test_wrong_command_lines(folder):
    said = leat("launch", "heat.xml", "-n", 2, "--launcher", "slurm", cwd=folder, code=2).stderr
    assert "leat launch heat.xml -n 2 -- ./simulation" in said
    for arguments in (["-n", 0], [], ["-n", 1, "--nodes", 0], ["-n", 1, "--launcher", "aprun"],
                      ["-n", 1, "--job", "lsf"], ["-n", 1, "--job", "slurm", "--run"]):
        described(folder, *arguments, code=2)
    for job, name in (("pbs", "PBS"), ("sge", "Grid Engine")):
        said = described(folder, "-n", 1, "--job", job, "--launcher", "slurm", code=2)
        assert f"srun starts nothing in a job of {name}; say --launcher openmpi or mpich" in said


def program(folder, name, text):
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / name).write_text("#!/bin/sh\n" + text)
    (folder / "bin" / name).chmod(0o755)


def test_the_launcher_is_the_one_that_is_there(folder):
    def first_word(code=0):
        said = described(folder, "-n", 1, PATH=str(folder / "bin"), code=code)
        return said.split()[0] if code == 0 else said

    (folder / "bin").mkdir()
    assert "there is no launcher in PATH" in first_word(code=1)
    program(folder, "srun", "exit 1")
    assert first_word() == "srun"
    program(folder, "mpirun", "echo 'Intel(R) MPI Library for Linux* OS, Version 2021.9'")
    assert first_word() == "srun"
    program(folder, "mpirun", "echo 'HYDRA build details:'")
    assert first_word() == "mpiexec.hydra"
    program(folder, "mpirun", "echo 'mpirun (Open MPI) 4.1.4'")
    assert first_word() == "mpirun"


def test_run_needs_a_launcher_and_becomes_it(folder):
    said = described(folder, "-n", 1, "--run", "--launcher", "slurm", PATH=str(folder / "bin"), code=1)
    assert said == ("leat launch: there is no srun of Slurm in PATH to run it with: load its module or install it; "
                    "without --run the line is printed, for another machine\n")

    def started(launcher, *words, code=0):
        asked = ("-n", 1, "--machine", "node.json", "--run", "--launcher", launcher)
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        return leat("launch", "heat.xml", *asked, "--", *words, cwd=folder, PATH=path, code=code)

    program(folder, "srun", 'printf "%s|" "$@"; exit 9')
    done = started("slurm", "a b", code=9)
    assert done.stdout.endswith("|--cpu-bind=mask_cpu:0x101|a b|") and done.stderr == ""
    # Of several that are called mpirun it takes its own.
    program(folder, "mpirun", "echo 'HYDRA build details:'")
    program(folder, "mpirun.openmpi", 'test "$1" = --version && echo "mpirun.openmpi (Open MPI) 4.1.4" || printf "%s " "$@"')
    assert started("openmpi", "x").stdout == "-n 1 --map-by ppr:1:node --bind-to core x "


def environment_of_launchers():
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return {**os.environ, **as_root}


def topology_of(folder, machine):
    """The file of hwloc for a machine of equal nodes and cores."""
    nodes = [node for node in machine["nodes"] if "cpus" in node]
    cores = cores_of(machine)
    order = ",".join(str(cpu) for core in cores for cpu in sorted(core))
    text = f"numa:{len(nodes)} core:{len(cores) // len(nodes)} pu:{len(cores[0])}(indexes={order})"
    subprocess.run(["lstopo-no-graphics", "--input", text, "--of", "xml", folder / "topology.xml"], check=True)
    return folder / "topology.xml"


def needs(*programs):
    for name in programs:
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")


def said_by(words, **environment):
    """What a launcher says of its bindings; that they cannot be had here does not matter."""
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                          env={**environment_of_launchers(), **environment})
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", ["two_sockets", "in_turns"])
def test_launchers_bind_so_on_the_described_machine(folder, name):
    needs("mpirun", "mpiexec.hydra", "lstopo-no-graphics")
    machine = MACHINES[name]
    (folder / "node.json").write_text(json.dumps(machine))
    topology = topology_of(folder, machine)

    first, *options = shlex.split(described(folder, "-n", 7, "--launcher", "openmpi", program=["true"]))
    said = said_by([first, "-H", "localhost:8", "--mca", "hwloc_base_topo_file", topology, "--mca", "rmaps_base_verbose", "10",
                    *options])
    bound = {int(rank): cpus_of(cpus) for rank, cpus in re.findall(r",(\d+)\] BITMAP (\S+)", said)}
    assert bound == dict(enumerate(cores_of(machine)[:7])), said

    words = shlex.split(described(folder, "-n", 7, "--launcher", "mpich", program=["true"]))
    said = said_by(words, HWLOC_XMLFILE=str(topology), HWLOC_THISSYSTEM="0", HYDRA_TOPO_DEBUG="1")
    maps = {int(rank): bits for rank, bits in re.findall(r"process (\d+) binding: ([01]+)", said)}
    bound = {rank: frozenset(cpu for cpu, bit in enumerate(bits) if bit == "1") for rank, bits in maps.items()}
    assert bound == dict(enumerate(cores_of(machine)[:7])), said


def one_core_more(folder):
    """This machine with a core that it has not, for the server: a rank is on each that it has."""
    machine = json.loads(leat("placement", "--describe", cwd=folder).stdout)
    extra = max(cpu for core in machine["cores"] for cpu in cpus_of(core)) + 1
    machine["nodes"][0]["cpus"] += f",{extra}"
    machine["allowed"] += f",{extra}"
    machine["cores"].append(str(extra))
    (folder / "node.json").write_text(json.dumps(machine))
    return machine


@pytest.mark.parametrize("launcher, its_program", [("openmpi", "mpirun"), ("mpich", "mpiexec.hydra")])
def test_ranks_that_run_are_where_the_line_says(folder, launcher, its_program):
    needs(its_program)
    machine = one_core_more(folder)
    ranks = len(cores_of(machine)) - 1
    line = 'echo "rank ${OMPI_COMM_WORLD_RANK}${PMI_RANK} $(grep Cpus_allowed_list: /proc/self/status)"; exit 7'
    words = ("sh", "-c", line)
    asked = ("-n", ranks, "--launcher", launcher)
    bound = bound_by(described(folder, *asked, program=words), machine)
    done = leat("launch", "heat.xml", "--machine", "node.json", *asked, "--run", "--", *words, cwd=folder, code=7,
                **environment_of_launchers())
    seen = re.findall(r"rank (\d+) Cpus_allowed_list:\s*(\S+)", done.stdout)
    assert {int(rank): cpus_of(cpus) for rank, cpus in seen} == dict(enumerate(bound)), done


def test_the_page_shows_what_the_command_says(folder):
    shown = re.findall(r"^    \$ leat (.*?)\n((?:    .*\n)+)", PAGE, re.M)
    shown = [each for each in shown if "--pretend-nodes" not in each[0]]  # run by tests/integration/test_pretend.py
    assert len(shown) == 4
    for command, text in shown:
        done = leat(*shlex.split(command), cwd=folder)
        assert done.stdout == re.sub("^    ", "", text, flags=re.M), command


@pytest.mark.parametrize("place, per_node, mpich", [
    ("process", 3, "user:0+8,1+9,2+10,4+12,5+13,6+14"),
    ("ranks", 4, "user:0+8,1+9,2+10,3+11,4+12,5+13,6+14,7+15")])
def test_ranks_of_several_servers_leave_each_its_cores(folder, place, per_node, mpich):
    wanted = f'cores="2" servers="2" place="{place}"'
    (folder / "heat.xml").write_text(heat_xml(cores=2).replace('cores="2"', wanted))
    assert f"--map-by ppr:{per_node}:numa --bind-to core" in described(folder, "-n", 6, "--launcher", "openmpi")
    assert f"-bind-to {mpich} " in described(folder, "-n", 6, "--launcher", "mpich")
