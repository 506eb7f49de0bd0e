# SPDX-License-Identifier: Apache-2.0
"""A cluster of Grid Engine that is this machine, under a test's control: sge_qmaster, and sge_execd on each of two nodes. All is in
namespaces of its own, which end with the `with` or with the test, and all processes with them. Each node has a host name, a network
interface, a /dev/shm and a folder for temporary files of jobs of its own, and all cores."""
import contextlib
import json
import os
import pathlib
import pwd
import re
import signal
import subprocess

from batch_cluster import NODES, wait_for
from leat_run import BUILD, LIMIT
from readers import made

BINARIES = "/usr/lib/gridengine"  # the packages are laid over /usr
NETWORK = "10.78.0"
# Of jobs, in nodes. Where the daemons are not root's, qrsh starts nothing on another node.
COUNTS = (1, 2) if os.geteuid() == 0 else (1,)
BOOTSTRAP = """admin_user {admin}
default_domain none
ignore_fqdn true
spooling_method classic
spooling_lib libspoolc
spooling_params {common};{folder}/qmaster
binary_path {root}/bin
qmaster_spool_dir {folder}/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""
CONFIGURATION = {
    "execd_spool_dir": "{folder}/execd", "login_shells": "none", "min_uid": "0", "min_gid": "0", "load_report_time": "0:0:2",
    "administrator_mail": "none",
    "reporting_params": "accounting=true reporting=false flush_time=00:00:15 accounting_flush_time=00:00:00 joblog=false sharelog=0:0:0"}
SCHEDULER = {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"}
# queue_conf(5): all attributes must be there. What is exceeded by other work on the machine does not stop the queue.
QUEUE = {
    "qname": "all.q", "hostlist": " ".join(NODES), "seq_no": "0", "nsuspend": "1", "suspend_interval": "0:5:0", "priority": "0",
    "min_cpu_interval": "0:5:0", "processors": "UNDEFINED", "qtype": "BATCH", "pe_list": "mpi", "rerun": "FALSE", "slots": "{cores}",
    "tmpdir": "{folder}/tmp", "shell": "/bin/sh", "shell_start_mode": "posix_compliant", "notify": "0:0:{notify}",
    "initial_state": "default",
    **dict.fromkeys("load_thresholds suspend_thresholds ckpt_list prolog epilog starter_method suspend_method resume_method "
                    "terminate_method owner_list user_lists xuser_lists subordinate_list complex_values projects xprojects "
                    "calendar".split(), "NONE"),
    **{f"{kind}_{what}": "INFINITY" for kind in "sh" for what in "rt cpu fsize data stack core rss vmem".split()}}
EXECUTION_HOST = dict.fromkeys("load_scaling complex_values user_lists xuser_lists projects xprojects usage_scaling "
                               "report_variables".split(), "NONE")
# Process 1 of the namespaces; its $0 is what a node does.
MASTER = """set -e
hostname master
ip link set lo up
ip link add bridge0 type bridge
ip addr add {network}.254/24 dev bridge0
ip link set bridge0 up
mount -t overlay overlay -o lowerdir={packages}:/usr /usr
mount --bind {folder}/hosts /etc/hosts
spoolinit classic libspoolc "{common};{folder}/qmaster" init
spooldefaults configuration {templates}/configuration
spooldefaults complexes {shared}/util/resources/centry
spooldefaults usersets {shared}/util/resources/usersets
spooldefaults managers {user}
for each in adminhosts submithosts exechosts pes; do spooldefaults $each {templates}/$each; done
sge_qmaster &
until qconf -sh >/dev/null 2>&1; do sleep 0.1; done
qconf -Msconf {templates}/scheduler
qconf -Aq {templates}/queue
for node in {nodes}; do
  unshare --mount --uts --ipc --net bash -c "$0" $node >{folder}/$node.out 2>&1 &
  echo $! >{folder}/$node.pid
done
wait
"""
NODE = """set -e
hostname $0
mount -t tmpfs none /dev/shm
mount -t tmpfs none {folder}/tmp
ip link set lo up
ip link add eth0 type veth peer name $0 netns 1
ip addr add $(sed -n "s/ $0\\$//p" /etc/hosts)/24 dev eth0
ip link set eth0 up
nsenter --target 1 --net ip link set $0 master bridge0 up
exec sge_execd
"""


def lines_of(values):
    return "".join(f"{key} {value}\n" for key, value in values.items())


def changed(file, values):
    """The text of a file of Grid Engine in which these keys have other values."""
    kept = re.sub(r"\\\n", "", file.read_text())
    return re.sub(rf"^({'|'.join(values)})\s.*\n", "", kept, flags=re.M) + lines_of(values)


class GridEngine:
    def __init__(self, folder, notify):
        """`notify`: seconds between the signal that warns a job of its end and SIGKILL."""
        self.folder, self.daemons = folder, None
        packages = made("grid_engine") / "usr"
        user = pwd.getpwuid(os.geteuid()).pw_name
        self.names = {
            "folder": folder, "root": folder / "root", "common": folder / "root/default/common", "templates": folder / "templates",
            "packages": packages, "shared": packages / "share/gridengine", "network": NETWORK, "nodes": " ".join(NODES),
            "user": user, "admin": "none" if os.geteuid() == 0 else user, "notify": notify, "cores": self.cores()}
        self.environment = {**os.environ, "SGE_ROOT": str(folder / "root"), "SGE_CELL": "default", "SGE_QMASTER_PORT": "6444",
                            "SGE_EXECD_PORT": "6445", "SGE_ND": "1",  # daemons stay in front
                            "PATH": f"{BUILD / 'bin'}:{BINARIES}:{os.environ['PATH']}", "OMPI_MCA_mpi_yield_when_idle": "1"}
        if os.geteuid() == 0:
            self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.write_configuration()

    @staticmethod
    def cores():
        return len(json.loads(subprocess.check_output([BUILD / "bin/leat", "placement", "--describe"]))["cores"])

    def write(self, file, text):
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_configuration(self):
        for each in ("execd", "tmp", "qmaster", "root/bin", "root/utilbin"):
            (self.folder / each).mkdir(parents=True)
        for each in ("bin", "utilbin"):
            (self.folder / "root" / each / "lx-amd64").symlink_to(BINARIES)
        (self.folder / "root/util").symlink_to(self.names["shared"] / "util")
        shared, common = self.names["shared"], "root/default/common"
        self.write(f"{common}/bootstrap", BOOTSTRAP.format(**self.names))
        self.write(f"{common}/act_qmaster", "master\n")
        self.write("templates/scheduler", changed(shared / "util/install_modules/inst_schedd_normal.conf", SCHEDULER))
        self.write("templates/configuration", changed(shared / "default-configuration", CONFIGURATION).format(**self.names))
        self.write("templates/pes/mpi", changed(shared / "util/resources/pe/mpi", {"accounting_summary": "TRUE"}))
        self.write("templates/queue", lines_of(QUEUE).format(**self.names))
        for host in ("master", *NODES):
            self.write(f"templates/adminhosts/{host}", f"hostname {host}\n")
            self.write(f"templates/submithosts/{host}", f"hostname {host}\n")
        for node in NODES:
            self.write(f"templates/exechosts/{node}", lines_of({"hostname": node, **EXECUTION_HOST}))
        hosts = [f"{NETWORK}.{number} {node}\n" for number, node in enumerate(NODES, 1)]
        self.write("hosts", "".join(["127.0.0.1 localhost\n", f"{NETWORK}.254 master\n", *hosts]))

    def __enter__(self):
        user = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
        kinds = ["--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        try:
            self.daemons = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", *user, *kinds, "bash", "-c", MASTER.format(**self.names),
                 NODE.format(**self.names)], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=(self.folder / "master.out").open("wb"), stderr=subprocess.STDOUT)
            wait_for(f"there are no nodes, see {self.folder}/*.out", self.is_made)
            wait_for(f"the nodes do not come up, see {self.folder}/*.out", self.is_idle)
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        with contextlib.suppress(OSError, IndexError):
            os.kill(self.first(), signal.SIGKILL)  # the system ends all others with it
        self.daemons.wait(LIMIT)

    def first(self):
        """Process 1 of the namespaces, as it is called outside."""
        return int(pathlib.Path(f"/proc/{self.daemons.pid}/task/{self.daemons.pid}/children").read_text().split()[0])

    def shared_memory(self, node):
        """What lies in the /dev/shm of a node, but for the runtime folder, which is there too."""
        holder = (self.folder / f"{node}.pid").read_text().strip()
        folder = pathlib.Path(f"/proc/{self.first()}/root/proc/{holder}/root/dev/shm")
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

    def is_made(self):
        assert self.daemons.poll() is None, (self.folder / "master.out").read_text()
        return all((self.folder / f"{node}.pid").exists() for node in NODES)

    def is_idle(self):
        """Both nodes are up, and no job is there."""
        said = self.run("qstat", "-f").stdout
        return len(re.findall(r"^all.q@\w+ +\w+ +0/0/\d+ +[\d.]+ +lx-amd64 *$", said, re.M)) == len(NODES) and "####" not in said

    def run(self, *words, cwd=None, **more):
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        inside = ["nsenter", "--target", self.first(), *user, "--mount", "--uts", "--ipc", "--net", "--pid", f"--wd={cwd or self.folder}"]
        return subprocess.run([str(word) for word in (*inside, *words)], env={**self.environment, **more}, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * LIMIT)

    def output(self, *words, cwd=None, **more):
        done = self.run(*words, cwd=cwd, **more)
        assert done.returncode == 0, done
        return done.stdout

    def end_of(self, number):
        """How the job has ended: what Grid Engine says went wrong (0: nothing) and its exit code; nothing of it runs any more."""
        wait_for(f"job {number} does not end", lambda: self.run("qstat", "-j", number).returncode != 0)
        said = wait_for("no account of the job", lambda: self.run("qacct", "-j", number).stdout)
        wait_for("the nodes do not become free", self.is_idle)
        return tuple(int(re.search(rf"^{word} +(\d+)", said, re.M)[1]) for word in ("failed", "exit_status"))
