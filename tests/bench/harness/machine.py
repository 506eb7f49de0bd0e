# SPDX-License-Identifier: Apache-2.0
"""What the machine is: figures without it are worth little."""

import os
import pathlib
import platform
import re
import subprocess


def cores():
    """Processors that this process may use, in order."""
    return sorted(os.sched_getaffinity(0))


def describe(folder):
    """Name and value, in the order in which a reader wants them."""
    return {
        "processor": _of_cpuinfo("model name") or platform.machine(),
        "cores": f"{len(cores())} of {os.cpu_count()}",
        "caches": ", ".join(_caches()),
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB",
        "memory nodes": str(len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1),
        "virtual machine": "yes" if "hypervisor" in _of_cpuinfo("flags").split() else "not that it says",
        "transparent huge pages": _first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
        "pages given back to the host": "yes" if gives_pages_back() else "no",
        "output lies on": _file_system(folder),
        "kernel": platform.release(),
        "MPI": _first_of("mpirun", "--version"),
    }


def gives_pages_back():
    """Free memory, to the host of a virtual machine: what it gets anew costs more than what it has touched before."""
    return os.path.exists("/sys/module/page_reporting") and os.path.exists("/sys/bus/virtio/drivers/virtio_balloon")


def _of_cpuinfo(name):
    found = re.search(rf"^{name}\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found[1] if found else ""


def _first_line(path):
    try:
        return pathlib.Path(path).read_text().splitlines()[0]
    except OSError:
        return "not told"


def _caches():
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if _first_line(index / "type") != "Instruction":
            yield f"L{_first_line(index / 'level')} {_first_line(index / 'size')}"


def _file_system(folder):
    """Type and device of the mount that the folder is in."""
    folder, best = os.path.realpath(folder), ("", "")
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        device, mount, kind = line.split()[:3]
        if os.path.commonpath((folder, mount)) == mount and len(mount) >= len(best[0]):
            best = (mount, f"{kind} on {device}")
    return best[1]


def _first_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError):
        return "none"
