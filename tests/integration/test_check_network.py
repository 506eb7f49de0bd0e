# SPDX-License-Identifier: Apache-2.0
"""`leat check --network`: processes of a job say which of them reaches which, on loopback and on nodes that are network namespaces."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import time
import uuid

import pytest
from leat_run import BUILD, LIMIT, xml

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
LEAT = str(BUILD / "bin/leat")
LAUNCHERS = ("OMPI_", "PMI", "SLURM_", "PALS_", "LEAT_INTERFACE")


def text(network):
    return xml(ROW).replace("<buffer", f"{network}<buffer")


def environment(**more):
    return {**{name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}, **more}


def start(folder, number, of, *words, before=(), **more):
    line = [*before, LEAT, "check", "run.xml", "--network", "--nodes", str(of), "--node", str(number), *words]
    return subprocess.Popen(line, cwd=folder, env=environment(**more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def ends(processes):
    """Exit code, output and errors of each."""
    found = []
    for process in processes:
        out, errors = process.communicate(timeout=LIMIT)
        found.append((process.returncode, out, errors))
    return found


def check_nothing_left(folder):
    assert not (folder / "run.group").exists(), list((folder / "run.group").rglob("*"))


def test_processes_that_reach_each_other_are_good(tmp_path):
    (tmp_path / "run.xml").write_text(text('<network interface="lo"/>'))
    first, *others = ends([start(tmp_path, number, 4) for number in range(4)])
    assert first[0] == 0 and all(each == (0, "", "") for each in others), (first, others)
    assert first[1].count("3 of 3") == 4 and first[1].rstrip().endswith("good"), first[1]
    check_nothing_left(tmp_path)


def test_it_is_the_same_as_json(tmp_path):
    (tmp_path / "run.xml").write_text(text('<network interface="lo"/>'))
    first, _ = ends([start(tmp_path, number, 2, "--json") for number in range(2)])
    facts = json.loads(first[1])
    assert facts["good"] and facts["closed"] == [] and len(facts["nodes"]) == 2
    assert "127.0.0.1" in facts["nodes"][0]["reaches"][0]["by"]


def test_a_launcher_says_how_many_take_part(tmp_path):
    (tmp_path / "run.xml").write_text(text('<network interface="lo"/>'))
    line = ["mpirun", "--oversubscribe", "-n", "3", LEAT, "check", "run.xml", "--network"]
    as_root = environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, env=as_root, text=True, timeout=LIMIT)
    assert done.returncode == 0 and done.stdout.count("2 of 2") == 3, done.stdout + done.stderr
    check_nothing_left(tmp_path)


@pytest.mark.parametrize("words, says", [([], "mpirun -n 4 --map-by node leat check FILE --network"),
                                         (["--nodes", "2"], "give --node, from 0 on"),
                                         (["--nodes", "2", "--node", "2"], "--node counts from 0")])
def test_who_takes_part_has_to_be_known(tmp_path, words, says):
    (tmp_path / "run.xml").write_text(text(""))
    done = subprocess.run([LEAT, "check", "run.xml", "--network", *words], cwd=tmp_path, env=environment(), capture_output=True, text=True,
                          timeout=LIMIT)
    assert done.returncode == 2 and says in done.stderr, done.stderr


def test_what_a_killed_check_has_left_is_not_taken(tmp_path):
    (tmp_path / "run.xml").write_text(text('<network interface="lo"/>'))
    killed = start(tmp_path, 0, 2)
    until = time.monotonic() + LIMIT
    while not list(tmp_path.glob("run.group/*/*.card")):
        assert time.monotonic() < until
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    first, second = ends([start(tmp_path, number, 2) for number in range(2)])
    assert first[0] == 0 and second[0] == 0, (first, second)
    check_nothing_left(tmp_path)


def test_processes_that_do_not_come_are_waited_for_as_long_as_said(tmp_path):
    (tmp_path / "run.xml").write_text(text('<network interface="lo"/>'))
    begun = time.monotonic()
    ((code, out, errors),) = ends([start(tmp_path, 0, 3, "--within", "2")])
    assert code == 1 and out == "" and time.monotonic() - begun < 30
    assert "servers of only 1 have met in" in errors and "all nodes have to share that folder" in errors
    check_nothing_left(tmp_path)


# ---- nodes that are network namespaces


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def can_make_networks():
    if os.geteuid() != 0 or not shutil.which("ip"):
        return False
    name = f"leat-{uuid.uuid4().hex[:8]}"
    with contextlib.suppress(subprocess.CalledProcessError):
        ip("netns", "add", name)
        try:
            ip("-n", name, "link", "add", "bridge0", "type", "bridge")
            ip("-n", name, "link", "add", "v0", "type", "veth", "peer", "name", "v1")
            return True
        finally:
            ip("netns", "del", name)
    return False


with_networks = pytest.mark.skipif(not can_make_networks(), reason="making network namespaces needs root, ip, bridges and veth")


@contextlib.contextmanager
def nodes(count):
    """Names of network namespaces, each with 10.77.0.N at "slow0" and 10.78.0.N at "fast0" of two networks."""
    stem = f"leat-{uuid.uuid4().hex[:6]}"
    switch, names = f"{stem}-sw", [f"{stem}-{n}" for n in range(count)]
    try:
        for name in [switch, *names]:
            ip("netns", "add", name)
        for net in (77, 78):
            ip("-n", switch, "link", "add", f"bridge{net}", "type", "bridge")
            ip("-n", switch, "link", "set", f"bridge{net}", "up")
        for n, name in enumerate(names):
            ip("-n", name, "link", "set", "lo", "up")
            for net, interface in ((77, "slow0"), (78, "fast0")):
                port = f"p{net}-{n}"
                ip("-n", switch, "link", "add", port, "type", "veth", "peer", "name", interface, "netns", name)
                ip("-n", switch, "link", "set", port, "master", f"bridge{net}", "up")
                ip("-n", name, "addr", "add", f"10.{net}.0.{n + 1}/24", "dev", interface)
                ip("-n", name, "link", "set", interface, "up")
        yield names
    finally:
        for name in [*names, switch]:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def check_on(folder, names, *words):
    (folder / "run.xml").write_text(text(""))
    found = ends([start(folder, n, len(names), *words, before=("ip", "netns", "exec", name)) for n, name in enumerate(names)])
    check_nothing_left(folder)
    return found


def close(names, one, other, net):
    """What `one` sends to `other` in that network goes nowhere: so do its answers."""
    ip("-n", names[one], "route", "add", "blackhole", f"10.{net}.0.{other + 1}/32")


@with_networks
def test_nodes_reach_each_other_by_all_their_networks(tmp_path):
    with nodes(3) as names:
        first, *others = check_on(tmp_path, names)
    assert first[0] == 0 and all(each[0] == 0 for each in others), first
    assert "closed" not in first[1] and first[1].count("2 of 2") == 3, first[1]


@with_networks
def test_it_says_which_network_all_nodes_reach_each_other_by(tmp_path):
    with nodes(3) as names:
        close(names, 2, 0, 77)
        first, *_ = check_on(tmp_path, names)
    assert first[0] == 0, first
    assert re.search(r"\(0\) cannot reach \S+ \(2\) at 10\.77\.0\.3:\d+: timed out; a firewall\?", first[1]), first[1]
    assert re.search(r"\(2\) cannot reach \S+ \(0\) at 10\.77\.0\.1:\d+: ", first[1]), first[1]
    assert 'write <network interface="fast0"/>' in first[1] and "good" in first[1], first[1]


@with_networks
def test_a_node_that_another_one_cannot_reach_at_all_is_named(tmp_path):
    with nodes(3) as names:
        for net in (77, 78):
            close(names, 1, 0, net)
        first, second, third = check_on(tmp_path, names, "--json")
    assert (first[0], second[0], third[0]) == (1, 1, 0), (first, second, third)
    facts = json.loads(first[1])
    assert not facts["good"] and 'carrier="folder"' in facts["advice"]
    assert sum("timed out; a firewall?" in each for each in facts["closed"]) == 2, facts["closed"]
    assert [len(each["reaches"]) for each in facts["nodes"]] == [1, 1, 2]
