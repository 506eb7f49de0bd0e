# SPDX-License-Identifier: Apache-2.0
"""`leat launch --pretend-nodes`: one MPI job on this machine as if it had several nodes.

The process that the user started makes namespaces of Linux for the whole run and has one child in them, process 1 of them.
That one makes a bridge, and for each node a process ("holder") with a host name, a /dev/shm and a network interface of its own,
which lead to the bridge; then it starts mpirun, whose daemons are started in the holders' namespaces instead of by ssh.

    user's process                                    hears Ctrl-C, and waits
      process 1: bridge0 10.77.0.254, mpirun          dies with the one above, and all others die with it
        pretend-0: eth0 10.77.0.1, /dev/shm           the daemon of mpirun, ranks, leatd
        pretend-1: eth0 10.77.0.2, /dev/shm           ...

All files that are not of the simulation are in the /dev/shm of one of them. So the system removes everything, and nothing has a name
that another run could have too.

Where the system allows no namespaces, nodes are pretended to Leat only: MPI has one, whose ranks are told by their environment which
runtime folder is theirs (`_OnLoopback`).
"""
import contextlib
import ctypes
import dataclasses
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from .words import BAD, Parser, Refused, Screen, counted, run, whole

_NEW_MOUNTS, _NEW_HOST_NAME, _NEW_MEMORY, _NEW_USER, _NEW_PROCESSES, _NEW_NETWORK = (
    0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)  # unshare(2)
_NODE = _NEW_MOUNTS | _NEW_HOST_NAME | _NEW_MEMORY | _NEW_NETWORK
_SIGNAL_AT_DEATH_OF_PARENT, _ADOPT = 1, 36  # prctl(2)
_NETWORK = "10.77.0"  # with room for the 200 nodes of server/cli/launch.cpp
_OWN = pathlib.Path("/dev/shm")
_STOPPED, _PATIENCE_S, _QUIET_S = 130, 10, 2
_RULES = """this system lets this user make no namespaces ({}), which pretended nodes are made of. One of these helps:
  as root:              sudo leat launch ... (Open MPI then wants OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  for all users:        sudo sysctl -w user.max_user_namespaces=10000 kernel.unprivileged_userns_clone=1
  Ubuntu 24.04 on:      sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0
  in a container:       docker run --privileged, or podman run --privileged"""
_AGENT = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1; shift
case $host in
{}*) echo "leat launch: mpirun wants to start something on $host, which is none of the pretended nodes" >&2; exit 1;;
esac
exec nsenter --target "$holder" --mount --uts --ipc --net -- \\
  env LEAT_RUNTIME_DIR=/dev/shm/leat LEAT_INTERFACE=eth0 LEAT_CPUS="$cpus" taskset --cpu-list "$computing" sh -c "$*"
"""
_RANK = """#!/bin/sh
node=$((OMPI_COMM_WORLD_RANK / {each})) size={each}
[ $node -lt {last} ] || size={of_last}
export LEAT_PRETEND_NODE=$node LEAT_RUNTIME_DIR={folder}/pretend-$node LEAT_INTERFACE=lo
export OMPI_COMM_WORLD_LOCAL_RANK=$((OMPI_COMM_WORLD_RANK % {each})) OMPI_COMM_WORLD_LOCAL_SIZE=$size
exec "$@"
"""


@dataclasses.dataclass
class Node:
    number: int
    ranks: range
    cpus: list  # of its cores, one after the other
    computing: list  # those of them that ranks may use
    is_alone: bool  # on its cores
    address: str
    is_staging: bool = False
    holder: int = 0

    @property
    def name(self):
        return f"pretend-{self.number}"


def main():
    parser = Parser("launch", "Runs one MPI job on nodes that are pretended. Called by leat launch.", "")
    count = {"type": whole(1, 1 << 31), "required": True}
    for name in ("--nodes", "--ranks", "--per-node", "--servers"):
        parser.add_argument(name, **{**count, "type": whole(0, 1 << 31)})
    for name in ("--xml", "--mpirun", "--staging-program"):
        parser.add_argument(name, required=True)
    parser.add_argument("--staging", type=whole(0, 200), default=0)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    return run("launch", lambda: _run(options))


def _run(options):
    for program, package in (("ip", "iproute2"), ("mount", "mount"), ("nsenter", "util-linux"), ("taskset", "util-linux")):
        if not shutil.which(program):
            raise Refused(f"there is no {program} in PATH, which makes pretended nodes: install the package {package}", BAD)
    nodes = nodes_of(options, _cores())
    why_not = _leave_this_machine()
    first = os.fork()
    if first == 0:
        _end_as((_OnLoopback(options, nodes, why_not) if why_not else _InNamespaces(options, nodes)).run)
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, lambda *_: os.kill(first, signal.SIGTERM))
    return os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])


def _end_as(answer):
    code = BAD
    try:
        code = run("launch", answer)
    except OSError as why:
        print(f"leat launch: {why}", file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)


# ---- who has which cores


def _cores():
    """Processors of each core of this machine that this process may use."""
    cores = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        with contextlib.suppress(OSError):
            siblings = pathlib.Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
            cores.setdefault(siblings, []).append(cpu)
            continue
        cores[cpu] = [cpu]
    return list(cores.values())


def nodes_of(options, cores):
    """Each has cores of its own where there are enough for that, otherwise all have all of them. The server's are the last ones."""
    total_nodes = options.nodes + options.staging
    is_alone = len(cores) >= total_nodes
    each = len(cores) // total_nodes if is_alone else len(cores)
    serving = options.servers if each > options.servers else 0
    nodes, started = [], options.per_node
    total = options.ranks
    for number in range(total_nodes):
        own = cores[number * each:(number + 1) * each] if is_alone else cores
        ranks = range(min(number * started, total), min((number + 1) * started, total))
        computing = own[:each - serving] if is_alone else own
        nodes.append(Node(number, ranks, sum(own, []), sum(computing, []), is_alone, f"{_NETWORK}.{number + 1}",
                          number >= options.nodes))
    return nodes


def _text_of(cpus):
    """ "0-3,8" """
    runs = []
    for cpu in sorted(cpus):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


# ---- namespaces


def _system_call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _leave_this_machine():
    """Root needs nothing for that; others become the root of a namespace of users, in which they are the only one. Returns why not."""
    user, group = os.geteuid(), os.getegid()
    outside = _NODE | _NEW_PROCESSES
    with contextlib.suppress(OSError):
        if user == 0:
            _system_call("unshare", outside)
            return None
    try:
        _system_call("unshare", outside | _NEW_USER)
        for file, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            pathlib.Path(f"/proc/self/{file}").write_text(text)
    except OSError as why:
        return why.strerror
    for allowed in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):  # it is root of nothing but this
        os.environ[allowed] = "1"
    return None


def _make(line):
    done = subprocess.run(line.split(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Refused(f"{line}: {done.stderr.strip()}\n" + (
            "the kernel has to have bridges and pairs of interfaces: sudo modprobe --all bridge veth" if line.startswith("ip link add")
            else _RULES.format("not all of them")), BAD)


def _hold(node):
    """The process that keeps a node there."""
    reader, writer = os.pipe()
    node.holder = os.fork()
    if node.holder == 0:
        _end_as(lambda: _be_holder(node, writer))
    os.close(writer)
    with open(reader, "rb") as ready:
        if ready.read() != b".":
            raise Refused(f"there is no {node.name}, see above", BAD)
    _make(f"ip link set {node.name} master bridge0 up")


def _be_holder(node, writer):
    _system_call("unshare", _NODE)
    socket.sethostname(node.name)
    for line in ("mount --make-rprivate /", "mount -t tmpfs -o mode=1777 tmpfs /dev/shm", "ip link set lo up",
                 f"ip link add eth0 type veth peer name {node.name} netns 1", f"ip addr add {node.address}/24 dev eth0",
                 "ip link set eth0 up"):
        _make(line)
    os.write(writer, b".")
    os.execvp("sleep", [f"leat-{node.name}", "infinity"])


class _Job:
    """mpirun, and what it starts: ends when all of that has ended, servers that store what is left among them."""

    def __init__(self, options, nodes):
        self.options, self.nodes, self.job, self.stops, self.code = options, nodes, None, 0, None
        self.staging = []
        self.computing = [node for node in nodes if not node.is_staging]

    def run(self):
        _system_call("prctl", _SIGNAL_AT_DEATH_OF_PARENT, self.at_death_of_parent, 0, 0, 0)
        _system_call("prctl", _ADOPT, 1, 0, 0, 0)
        os.setsid()  # Ctrl-C comes to the parent alone
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, lambda *_: self._stop())
        signal.signal(signal.SIGALRM, lambda *_: self.job.kill())
        try:
            self.make_all()
            sys.stderr.write(self.screen())
            sys.stderr.flush()
            for node in self.nodes:
                if node.is_staging:
                    self.staging.append(subprocess.Popen(self.on_node(node, [self.options.staging_program, self.options.xml]),
                                                         stdin=subprocess.DEVNULL))
            stdin = subprocess.DEVNULL if sys.stdin and sys.stdin.isatty() else None
            self.job = subprocess.Popen(self.words(), executable=self.options.mpirun, stdin=stdin)
            if self.stops:
                self.job.terminate()
            while self.code is None:
                self._reap(os.wait())
            signal.alarm(0)
            for each in self.staging:  # one that serves nobody ends, another one when it has stored all
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each.pid, signal.SIGTERM)
            self._await_servers()
        finally:
            self.clean_up()
        return _STOPPED if self.stops else self.code

    def _stop(self):
        self.stops += 1
        if self.stops > 1:
            self.clean_up()
            os._exit(_STOPPED)
        if self.job and self.code is None:
            self.job.terminate()
            signal.alarm(_PATIENCE_S)

    def _reap(self, ended):
        process, status = ended
        if self.job and process == self.job.pid:
            code = os.waitstatus_to_exitcode(status)
            self.code = code if code >= 0 else 128 - code
        return process

    def _await_servers(self):
        """Servers store what ranks have handed over, when the ranks have gone too."""
        told_at = time.monotonic() + _QUIET_S
        while left := self.left():
            while self._reap(os.waitpid(-1, os.WNOHANG)):
                if not self.left():
                    return
            if told_at and time.monotonic() > told_at:
                told_at = None
                print(f"leat launch: mpirun has ended, and these not yet: {', '.join(map(self.name_of, left))}; Ctrl-C ends them, "
                      "with what they have not stored", file=sys.stderr, flush=True)
            time.sleep(0.02)

    def left(self):
        """Processes that still run, but the holders; also those whose parents have gone."""
        me, holders = os.getpid(), {node.holder for node in self.nodes}
        every = map(int, pathlib.Path(f"/proc/self/task/{me}/children").read_text().split())
        return [each for each in every if each not in holders]

    def name_of(self, process):
        with contextlib.suppress(OSError):
            return pathlib.Path(f"/proc/{process}/comm").read_text().strip()
        return str(process)

    def settings(self):
        is_crowded = any(len(node.ranks) > len(node.computing) for node in self.computing) or not self.nodes[0].is_alone
        return {"mpi_yield_when_idle": "1"} if is_crowded else {}

    def clean_up(self):
        pass


class _InNamespaces(_Job):
    """As process 1."""

    at_death_of_parent = signal.SIGKILL

    def make_all(self):
        for line in ("mount --make-rprivate /", "mount -t proc proc /proc", f"mount -t tmpfs -o mode=1777 tmpfs {_OWN}",
                     "ip link set lo up", "ip link add bridge0 type bridge", f"ip addr add {_NETWORK}.254/24 dev bridge0",
                     "ip link set bridge0 up"):
            _make(line)
        socket.sethostname("pretend")
        hosts = [f"{node.address} {node.name}\n" for node in self.nodes]
        (_OWN / "hosts").write_text("".join(["127.0.0.1 localhost\n", f"{_NETWORK}.254 pretend\n", *hosts]))
        if os.path.exists("/etc/hosts"):
            _make(f"mount --bind {_OWN}/hosts /etc/hosts")
        for node in self.nodes:
            _hold(node)
        cases = [f"{node.name}) holder={node.holder} cpus={_text_of(node.cpus)} computing={_text_of(node.computing)};;\n"
                 for node in self.nodes]
        for process in (os.getpid(), *(node.holder for node in self.nodes)):  # the daemons on nodes look whether it is there
            agent = pathlib.Path(f"/proc/{process}/root{_OWN}/leat-agent")
            agent.write_text(_AGENT.format("".join(cases)))
            agent.chmod(0o755)

    def on_node(self, node, words):
        return [f"{_OWN}/leat-agent", node.name, f"cd {shlex.quote(os.getcwd())} && exec {shlex.join(map(str, words))}"]

    def words(self):
        settings = {"plm": "rsh", "plm_rsh_agent": f"{_OWN}/leat-agent", "plm_rsh_no_tree_spawn": "1", "orte_tmpdir_base": str(_OWN)}
        words = ["mpirun", "-n", str(self.options.ranks), "--host", ",".join(f"{node.name}:{len(node.ranks)}" for node in self.computing),
                 "--bind-to", "none"]
        for name, value in (settings | self.settings()).items():
            words += ["--mca", name, value]
        return words + self.options.program

    def screen(self):
        return _screen(self.options, self.nodes,
                       "  pretended: host names, shared memory, runtime folders, and a network of TCP between nodes, with no other one "
                       "beside it\n"
                       "  not pretended: bandwidth of memory, speed of the network, disks and file systems of nodes; these are this "
                       "machine's\n")


class _OnLoopback(_Job):
    """Each "node" is a runtime folder."""

    at_death_of_parent = signal.SIGTERM

    def __init__(self, options, nodes, why_not):
        super().__init__(options, nodes)
        self._why_not, self._folder = why_not, None
        for node in nodes:
            node.address, node.is_alone, node.cpus = "127.0.0.1", False, sorted(os.sched_getaffinity(0))

    def make_all(self):
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-pretend-"))
        script = self._folder / "rank"
        script.write_text(_RANK.format(each=len(self.nodes[0].ranks), last=len(self.computing) - 1, of_last=len(self.computing[-1].ranks),
                                       folder=shlex.quote(str(self._folder))))

    def on_node(self, node, words):
        settings = [f"LEAT_RUNTIME_DIR={self._folder}/{node.name}", "LEAT_INTERFACE=lo"]
        return ["env", *settings, *map(str, words)]

    def words(self):
        words = ["mpirun", "-n", str(self.options.ranks), "--oversubscribe", "--bind-to", "none"]
        for name, value in self.settings().items():
            words += ["--mca", name, value]
        return [*words, "sh", str(self._folder / "rank"), *self.options.program]

    def screen(self):
        return _screen(self.options, self.nodes,
                       "  pretended: runtime folders, and servers that reach each other by TCP; for MPI it is one node\n"
                       "  not pretended: host names, shared memory, cores and networks of nodes, bandwidth of memory, disks\n"
                       f"  for more, {_RULES.format(self._why_not)}\n")

    def clean_up(self):
        for each in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


# ---- what is told


def _screen(options, nodes, what):
    shown = Screen(sys.stderr)
    rows = [[(word, "bold") for word in ("node", "ranks", "cores", "address")]]
    for node in nodes:
        ranks = f"{node.ranks.start}-{node.ranks.stop - 1}" if len(node.ranks) > 1 else f"{node.ranks.start}"
        ranks = "staging" if node.is_staging else ranks
        rows.append([node.name, ranks, _text_of(node.cpus) + ("" if node.is_alone else ", as all nodes"), node.address])
    processors = len({cpu for node in nodes for cpu in node.cpus})
    text = shown.painted(f"{options.xml}: {counted(options.ranks, 'rank')} on {len(nodes)} nodes that this machine pretends to be", "bold")
    text += "\n"
    text += shown.table(rows, may_break=False)
    text += what
    if options.ranks + len(nodes) > processors:
        text += shown.painted(f"  {counted(processors, 'processor')} for {counted(options.ranks, 'rank')} and {len(nodes)} servers: "
                              "times of this run say nothing of a cluster's\n", "yellow")
    return text + "\n"
