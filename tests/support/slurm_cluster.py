# SPDX-License-Identifier: Apache-2.0
"""A cluster of Slurm that is this machine, under a test's control: munged, slurmctld and two slurmd with configuration, ports and
folders of their own. They are children of the test, and end with the `with`, as do jobs. Each node has a host name, a /dev/shm and
folders for MPI of its own, and all cores."""
import contextlib
import os
import pathlib
import pwd
import re
import socket
import subprocess

from batch_cluster import NODES, wait_for
from leat_run import BUILD, LIMIT

PATH = f"{os.environ['PATH']}:/usr/sbin"
CONFIG = """ClusterName=leat
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={control_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
TaskEpilog={folder}/epilog.sh
MpiDefault=pmix
SwitchType=switch/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
KillWait=60
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
# What proctrack/cgroup of a real cluster does, without the right to make control groups: when a task has ended, all that it has
# left in its step is killed. proctrack/linuxproc loses sight of what a dead task had started. Slurm may kill this script after 50 ms.
EPILOG = """#!/bin/bash
for process in $(grep -lx leatd /proc/[0-9]*/comm 2>/dev/null); do
  process=${process%/comm}
  [ -O "$process" ] || continue
  for each in "SLURM_JOB_ID=$SLURM_JOB_ID" "SLURM_STEP_ID=$SLURM_STEP_ID" "SLURMD_NODENAME=$SLURMD_NODENAME"; do
    grep -zqx "$each" "$process/environ" 2>/dev/null || continue 2
  done
  kill -9 "${process#/proc/}"
done
"""
ENDED = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")


def free_ports(count):
    with contextlib.ExitStack() as sockets:
        each = [sockets.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in each]


class Slurm:
    def __init__(self, folder):
        self.folder, self.daemons = folder, []
        (folder / "state").mkdir(parents=True)
        for node in NODES:
            (folder / f"spool-{node}").mkdir()
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o600)
        (folder / "epilog.sh").write_text(EPILOG)
        (folder / "epilog.sh").chmod(0o755)
        (folder / "plugstack.conf").write_text("")
        (folder / "pmix").mkdir()
        (folder / "mpi.conf").write_text(f"PMIxCliTmpDirBase={folder}/pmix\n")  # else in /tmp, by the numbers of jobs
        os.environ["PATH"] = PATH  # Debian's daemons are in /usr/sbin
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{BUILD / 'bin'}:{PATH}"}
        self.environment["OMPI_MCA_mpi_yield_when_idle"] = "1"  # ranks of both nodes may share a core
        if os.geteuid() == 0:
            self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        control_port, *node_ports = free_ports(1 + len(NODES))
        host, cores = socket.gethostname().split(".")[0], re.search(r"CPUs=.*?RealMemory=\d+", self.output("slurmd", "-C"))[0]
        nodes = "\n".join(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} {cores}"
                          for node, port in zip(NODES, node_ports))
        (folder / "slurm.conf").write_text(CONFIG.format(
            host=host, user=pwd.getpwuid(os.geteuid()).pw_name, folder=folder, control_port=control_port, nodes=nodes))

    def start(self, *words):
        name = words[0] if words[0] != "unshare" else words[-1]
        self.daemons.append(subprocess.Popen(
            words, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=(self.folder / f"{name}.err").open("wb")))

    def start_node(self, node):
        user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
        own = f'hostname "$0" && mount -t tmpfs none /dev/shm && mount -t tmpfs none {self.folder}/pmix && exec slurmd -D -N "$0"'
        self.start("unshare", *user, "--mount", "--uts", "sh", "-c", own, node)

    def shared_memory(self, node):
        """What lies in the /dev/shm of a node, but for the runtime folder, which is there too."""
        folder = pathlib.Path(f"/proc/{self.daemons[2 + NODES.index(node)].pid}/root/dev/shm")
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

    def __enter__(self):
        try:
            # --force: folders of tests may be open to others.
            self.start("munged", "--foreground", "--force", "--num-threads=2", f"--socket={self.folder}/munge.socket",
                       *(f"--{what}-file={self.folder}/munge.{what}" for what in ("key", "pid", "log", "seed")))
            wait_for("munged does not start", (self.folder / "munge.socket").exists)
            self.start("slurmctld", "-D")
            for node in NODES:
                self.start_node(node)
            wait_for("the nodes do not come up", self.is_idle)
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self.run("scancel", "--user", str(os.geteuid()))
        with contextlib.suppress(AssertionError):
            wait_for("jobs do not end", self.is_idle)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait(LIMIT)

    def is_idle(self):
        return self.run("sinfo", "--noheader", "--Node", "--format=%T").stdout.split() == ["idle"] * len(NODES)

    def run(self, *words, cwd=None, **more):
        return subprocess.run(list(map(str, words)), env={**self.environment, **more}, cwd=cwd or self.folder, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * LIMIT)

    def output(self, *words, cwd=None, **more):
        done = self.run(*words, cwd=cwd, **more)
        assert done.returncode == 0, done
        return done.stdout

    def job(self, number):
        return dict(re.findall(r"(\w+)=(\S*)", self.output("scontrol", "show", "job", number)))

    def end_of(self, number):
        """How the job has ended: its state and its exit code; nothing of it runs any more."""
        state = wait_for(f"job {number} does not end", lambda: self.state_if_ended(number))
        wait_for("the nodes do not become free", self.is_idle)
        return state

    def state_if_ended(self, number):
        job = self.job(number)
        return (job["JobState"], job["ExitCode"]) if job["JobState"] in ENDED else None
