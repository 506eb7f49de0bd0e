# SPDX-License-Identifier: Apache-2.0
"""The whole command `leat placement`, as people and scripts run it."""
import json
import re
from pathlib import Path

import pytest
from machine_command import MACHINE, REFERENCE, heat_xml, leat

PAGE = (REFERENCE / "leat-placement.md").read_text()


def placement(folder, *arguments, machine=MACHINE):
    (folder / "node.json").write_text(json.dumps(machine))
    return json.loads(leat("placement", "--machine", "node.json", "--json", *arguments, cwd=folder).stdout)


def complaint(folder, machine):
    (folder / "node.json").write_text(machine if isinstance(machine, str) else json.dumps(machine))
    return leat("placement", "--machine", "node.json", cwd=folder, code=1).stderr


def test_the_page_shows_what_the_command_says(tmp_path):
    (tmp_path / "node.json").write_text(json.dumps(MACHINE))
    command, screen = re.search(r"    \$ leat (.*?)\n(.*?)\n\nNumbers", PAGE, re.S).groups()
    done = leat(*command.split(), cwd=tmp_path)
    assert done.stdout == re.sub("^    ", "", screen, flags=re.M) + "\n"
    assert done.stderr == ""


def test_ranks_on_all_cores_are_named_and_no_error(tmp_path):
    whole = placement(tmp_path, "--ranks", 8)
    assert whole["server"]["shared"] and not whole["server"]["pinned"]
    assert "it shares cores 0-15 with ranks 0-7," in whole["warnings"][0]
    done = leat("placement", "--machine", "node.json", "--ranks", 8, cwd=tmp_path)
    assert "warning: no core is free for the server" in done.stderr


@pytest.mark.parametrize("numa, first, last", [("client", [0], [1]), ("server", [1], [1]), ("interleave", [0, 1], [0, 1])])
def test_the_xml_says_how_many_cores_and_where_memory_lies(tmp_path, numa, first, last):
    (tmp_path / "heat.xml").write_text(heat_xml(cores=2, numa=numa))
    whole = placement(tmp_path, "--xml", "heat.xml")
    assert whole["numa"] == numa
    assert whole["server"] == {"cpus": "6-7,14-15", "cores": 2, "memory_node": 1, "pinned": True, "shared": False}
    assert [rank["memory_nodes"] for rank in whole["ranks"]] == 4 * [first] + 2 * [last]


def test_ranks_are_bound_as_the_launcher_does(tmp_path):
    assert [r["node"] for r in placement(tmp_path, "--ranks", 3, "--bind", "node")["ranks"]] == [0, 1, 0]
    roaming = placement(tmp_path, "--ranks", 3, "--bind", "none")
    assert [r["node"] for r in roaming["ranks"]] == 3 * [None]
    assert not roaming["server"]["pinned"] and not roaming["warnings"]
    given = placement(tmp_path, "--rank-cpus", "0-3", "--rank-cpus", "4-6")
    assert [r["cpus"] for r in given["ranks"]] == ["0-3", "4-6"]
    assert given["server"]["cpus"] == "7,15"


def test_ranks_fill_one_memory_node_after_the_other_however_they_are_numbered(tmp_path):
    machine = {"leat_machine": 1, "nodes": [{"cpus": "0,2,4", "memory_mib": 1}, {"cpus": "1,3,5", "memory_mib": 1}]}
    whole = placement(tmp_path, "--ranks", 5, machine=machine)
    assert [r["cpus"] for r in whole["ranks"]] == ["0", "2", "4", "1", "3"] and whole["server"]["cpus"] == "5"


def test_a_cpuset_that_leaves_one_core(tmp_path):
    whole = placement(tmp_path, "--ranks", 1, machine={**MACHINE, "allowed": "5"})
    assert whole["server"]["cpus"] == "5" and whole["server"]["shared"]
    assert whole["nodes"][1]["not_allowed"] == "4,6-7,12-15"
    assert "with rank 0," in whole["warnings"][0]


def test_this_machine_described_is_this_machine(tmp_path):
    (tmp_path / "here.json").write_text(leat("placement", "--describe", cwd=tmp_path).stdout)
    here = json.loads(leat("placement", "--json", cwd=tmp_path).stdout)
    described = json.loads(leat("placement", "--json", "--machine", "here.json", cwd=tmp_path).stdout)
    by_variable = json.loads(leat("placement", "--json", cwd=tmp_path, LEAT_MACHINE="here.json").stdout)
    for each in (here, described, by_variable):
        del each["machine"]
        for node in each["nodes"]:
            node["memory_bytes"] //= 1 << 20
    assert here == described == by_variable
    again = leat("placement", "--describe", "--machine", "here.json", cwd=tmp_path).stdout
    assert again == (tmp_path / "here.json").read_text()


@pytest.mark.parametrize("change, message", [
    ({"nodes": [], "distances": []}, "nodes: none of them has processors"),
    ({"nodes": [{"cpus": "0", "memory_mib": 0}], "distances": []}, "nodes: none of them has memory"),
    ({"nodes": [{"cpus": "0-", "memory_mib": 1}]}, 'nodes[0].cpus: expected a list of processors like "0-3,8", from 0 to 1023'),
    ({"nodes": [{"cpus": "0"}]}, 'nodes[0]: "memory_mib" is missing'),
    ({"nodes": [{"cpus": "0", "memory_mib": -1}]}, "nodes[0].memory_mib: expected a number from 0, not -1"),
    ({"nodes": [{"cpus": "0", "memory_mib": 1}, {"cpus": "0", "memory_mib": 1}]}, "nodes[1].cpus: 0 is in another node too"),
    ({"nodes": [{"id": 0, "memory_mib": 1}, {"id": 0, "memory_mib": 1}]}, "nodes[1].id: there is another node 0"),
    ({"nodes": [7]}, "nodes[0]: expected an object"),
    ({"node": []}, 'there is no "node"; did you mean "nodes"?'),
    ({"cores": ["0,1", "1,2"]}, "cores[1]: 1 is in another core too"),
    ({"distances": [[10]]}, "distances: expected a row for each node"),
    ({"distances": [[10, 20], [10, 20], [10, 20]]}, "distances[0]: expected a number for each node"),
    ({"allowed": "99"}, "allowed: none of the processors is allowed"),
    ({"leat_machine": 2}, "leat_machine: expected 1")])
def test_what_makes_no_sense_is_named(tmp_path, change, message):
    said = complaint(tmp_path, {**MACHINE, **change})
    assert said.startswith("leat placement: node.json: ") and message in said


def test_other_errors_are_named_too(tmp_path):
    assert "it is no JSON" in complaint(tmp_path, "{")
    assert "the machine: expected an object" in complaint(tmp_path, "[]")
    assert "no such file" in leat("placement", "--machine", "none.json", cwd=tmp_path, code=1).stderr
    (tmp_path / "heat.xml").write_text(heat_xml(cores=1, numa="clients"))
    assert 'did you mean "client"?' in leat("placement", "--xml", "heat.xml", cwd=tmp_path, code=1).stderr
    assert "--rank-cpus x" in leat("placement", "--rank-cpus", "x", cwd=tmp_path, code=2).stderr
    leat("placement", "--bind", "socket", cwd=tmp_path, code=2)
    leat("placement", "--ranks", "0", cwd=tmp_path, code=2)


def test_leat_check_says_it_in_two_lines(tmp_path):
    (tmp_path / "heat.xml").write_text(heat_xml(cores=1, numa="client"))
    (tmp_path / "node.json").write_text(json.dumps(MACHINE))
    done = leat("check", "heat.xml", "--per-node", 7, "--machine", "node.json", cwd=tmp_path)
    assert "Placement on node.json\n  server  cores 7,15, memory node 1, of its own\n" in done.stdout
    assert "buffer  memory node 0 for ranks 0-3, 1 for ranks 4-6\n" in done.stdout
    done = leat("check", "heat.xml", "--per-node", 8, "--machine", "node.json", cwd=tmp_path)
    assert "warning: no core is free for the server: it shares cores 0-15 with ranks 0-7" in done.stderr
    assert "Placement" not in leat("check", "heat.xml", cwd=tmp_path).stdout
    leat("check", "heat.xml", "--machine", "none.json", cwd=tmp_path, code=1)


def test_the_how_to_gives_commands_that_exist(tmp_path):
    page = (Path(__file__).parents[2] / "docs/how-to/numa.md").read_text()
    commands = re.findall(r"^ +leat (.*)$", page, re.M)
    assert len(commands) == 3
    (tmp_path / "heat.xml").write_text(heat_xml(cores=1, numa=re.search(r'numa="(\w+)"', page)[1]))
    (tmp_path / "node.json").write_text(leat(*commands[0].split()[:2], cwd=tmp_path).stdout)
    leat(*commands[1].split(), cwd=tmp_path)
    large = {"leat_machine": 1, "nodes": [{"cpus": "0-31", "memory_mib": 1024}]}
    (tmp_path / "node.json").write_text(json.dumps(large))
    leat(*commands[2].split(), cwd=tmp_path)


def test_each_of_several_servers_is_beside_its_ranks(tmp_path):
    (tmp_path / "heat.xml").write_text(heat_xml(cores=2).replace('cores="2"', 'cores="2" servers="2"'))
    whole = placement(tmp_path, "--xml", "heat.xml")
    assert [rank["cpus"] for rank in whole["ranks"]] == ["0,8", "1,9", "2,10", "4,12", "5,13", "6,14"]
    assert [(server["cpus"], server["memory_node"]) for server in whole["servers"]] == [("3,11", 0), ("7,15", 1)]
    screen = leat("placement", "--machine", "node.json", "--xml", "heat.xml", cwd=tmp_path).stdout
    assert "2 servers" in screen and re.search(r"1 runs on +cores 7,15, memory node 1, of its own", screen)
    done = leat("placement", "--machine", "node.json", "--xml", "heat.xml", "--ranks", 1, cwd=tmp_path, code=1)
    assert 'servers="2"' in done.stderr and "1 rank" in done.stderr
