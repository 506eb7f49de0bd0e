# SPDX-License-Identifier: Apache-2.0
"""Jobs that run examples/heat_c as `leat launch` says, on a cluster that is this machine: what tests do to them, and what they expect."""
import json
import os
import pathlib
import re
import signal
import time

import h5py
from batch_cluster import NODES, wait_for
from example_run import iterations
from leat_run import BUILD, same_bits
from test_heat import NY, plate

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "heat_c"
ENDLESS = 100_000_000
RUNTIME = "/dev/shm/leat"  # on each node another one


def job_file(cluster, system, folder, steps, *options, nodes=1):
    """heat.job, which is as `leat launch --job` prints it."""
    text = (EXAMPLE / "heat.xml").read_text()
    (folder / "heat.xml").write_text(text.replace("64MiB", "1MiB").replace("<data>", '<log file="heat.log"/>\n  <data>'))
    text = cluster.output("leat", "launch", "heat.xml", "-n", nodes, "--nodes", nodes, "--job", system, *options, "--",
                          BUILD / "bin/heat", "heat.xml", steps, cwd=folder)
    (folder / "heat.job").write_text(text)
    return text


def wait_until_something_is_stored(folder):
    wait_for("nothing is stored", lambda: len(iterations(folder / "heat.h5")) > 2)


def processes_in(folder, name=""):
    """Those that work there; of this name."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and os.readlink(process / "cwd") == str(folder):
                if name in ("", (process / "comm").read_text().strip()):
                    found.append(int(process.name))
        except OSError:
            continue
    return found


def sleeps(pid):
    return "\nState:\tS" in pathlib.Path(f"/proc/{pid}/status").read_text()


def stop_servers(folder):
    """Until a rank waits for room: there is much in memory then that is in no file."""
    for pid in processes_in(folder, "leatd"):
        os.kill(pid, signal.SIGSTOP)
    ranks, seen = processes_in(folder, "heat"), 0
    while seen < 10:
        wait_for("no rank waits", lambda: any(map(sleeps, ranks)))
        seen = seen + 1 if any(map(sleeps, ranks)) else 0
        time.sleep(0.01)
    return ranks


def expect_nothing_left(cluster, folder):
    """A batch system says that a job is over while its last processes still end."""
    wait_for("processes of the job do not end", lambda: not processes_in(folder))
    for node in NODES:
        wait_for(f"memory stays on {node}", lambda node=node: not memory_on(cluster, node))


def memory_on(cluster, node):
    """What lies in its /dev/shm but for the runtime folder."""
    return [path for path in cluster.shared_memory(node) if path != pathlib.Path(RUNTIME).name]


def ledgers(folder, nodes):
    names = ["heat"] if nodes == 1 else [f"heat-{node}" for node in NODES]
    return [json.loads((folder / f"{name}.ledger.json").read_text()) for name in names]


def rank_of(ledger):
    """The one of its node: batch systems have nodes in an order of their own."""
    return ledger["died"][0]["rank"] if ledger["died"] else ledger["entries"][0]["ranks"][0][0]


def expect_all_that_was_written(folder, steps=None, nodes=1):
    """Of a rank that died all before the iteration that it was in; to the last bit as far as NumPy computes it here."""
    rows = NY // nodes
    plates = [T for i, T in enumerate(plate(201)) if i % 10 == 0]
    with h5py.File(folder / "heat.h5") as file:
        numbers = file["iteration"][:].tolist()
        for ledger in ledgers(folder, nodes):
            ended = steps or ledger["died"][0]["iteration"]
            due = list(range(0, ended, 10))
            assert ledger["lost"] == 0 and due and numbers[:len(due)] == due
            part = slice(rank_of(ledger) * rows, (rank_of(ledger) + 1) * rows)
            for T, stored in zip(plates, file["temperature"][:min(len(due), len(plates))]):
                assert same_bits(stored[part], T[part])


def expect_a_core_for_each_server(cluster, folder, nodes):
    placed = json.loads(cluster.output("leat", "placement", "--xml", "heat.xml", "--ranks", 1, "--json", cwd=folder))["server"]
    for ledger in ledgers(folder, nodes):
        assert re.match(rf"cores? {placed['cpus']},", ledger["placement"]["server"]) and ledger["placement"]["warnings"] == []


def expect_the_logs_to_say_who_died(folder, ranks):
    logs = "".join(path.read_text() for path in folder.glob("heat*.log"))  # each server has its own
    for rank in range(ranks):
        assert re.search(rf"rank {rank} died in iteration \d+; the data it had written is stored", logs), rank
