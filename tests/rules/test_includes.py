# SPDX-License-Identifier: Apache-2.0
"""docs/design/rooms.md as a check: which room may include what."""
import re

import pytest
from tree import ROOT, sources

POSIX = {"cerrno", "dirent.h", "dlfcn.h", "elf.h", "errno.h", "fcntl.h", "linux/futex.h", "poll.h", "pthread.h", "sched.h",
         "signal.h", "spawn.h", "syscall.h", "time.h", "unistd.h", "sys/"}
EPOLL = {"sys/epoll.h", "sys/eventfd.h", "sys/signalfd.h", "unistd.h", "signal.h"}
LIBS = ("lib/base/", "lib/platform/", "lib/shm/", "lib/model/")

# room (the longest prefix counts): our own headers, headers of others beside the C and C++ standard
RULES = {
    "lib/base": (("lib/base/",), ()),
    "lib/platform": (("lib/base/", "lib/platform/"), (*POSIX, "numa.h", "numaif.h")),
    "lib/shm": (("lib/base/", "lib/platform/", "lib/shm/"), ("boost/interprocess/",)),
    "lib/model": (("lib/base/", "lib/model/"), ("xercesc/",)),
    "client-api": (("client-api/", "lib/base/", "lib/platform/", "lib/shm/"), tuple(POSIX)),
    "client-api/leat.h": ((), ()),
    "client-api/leat.hpp": (("leat.h",), ()),
    "client-api/leat_mpi.h": (("leat.h",), ("mpi.h", "unistd.h", "time.h")),
    "server": (("server/",) + LIBS, (*EPOLL, "spdlog/", "fmt/", "CLI/", "nlohmann/")),
    "server/command": (("server/command/",) + LIBS, ("CLI/", "nlohmann/", "unistd.h", "sys/ioctl.h", "langinfo.h")),
    "server/include": (("plugin.h",), ()),
    "server/plugins/trace": (("server/include/",), ()),
    "server/plugins/hdf5": (("server/include/", "server/plugins/hdf5/"), ("hdf5.h", "hdf5_hl.h", *POSIX)),
    "python-plugins": ((), ("leat.h", "pybind11/")),
    "fortran": (("leat.h",), ("ISO_Fortran_binding.h",)),
    "examples/heat_c": ((), ("leat_mpi.h", "mpi.h")),
    "examples/lammps": ((), ("leat_mpi.h", "mpi.h", "lammps/library.h")),
}
C_STANDARD = {f"{n}.h" for n in ("assert errno inttypes limits math stdarg stdbool stddef stdint stdio stdlib string "
                                 "threads complex").split()}


def rule_for(path):
    rooms = [room for room in RULES if path == room or path.startswith(room + "/")]
    return RULES[max(rooms, key=len)] if rooms else None


def is_standard(header):
    return header in C_STANDARD or re.fullmatch(r"[a-z_]+", header) is not None


def offences(path, text):
    """Includes in `text` that the room of `path` may not have."""
    own, others = rule_for(path)
    for kind, header in re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', text, re.M):
        allowed = own if kind == '"' else others
        fits = any(header.startswith(a) if a.endswith("/") else header == a for a in allowed)
        if not fits and not (kind == "<" and is_standard(header)):
            yield header


@pytest.mark.parametrize("path", [p for p in sources() if rule_for(p)])
def test_a_room_includes_only_what_it_may(path):
    assert not list(offences(path, (ROOT / path).read_text()))


@pytest.mark.parametrize("path, line", [
    ("lib/base/x.hpp", '#include "lib/shm/layout.hpp"'),
    ("lib/shm/x.cpp", "#include <xercesc/dom/DOM.hpp>"),
    ("client-api/x.cpp", "#include <mpi.h>"),
    ("client-api/x.cpp", "#include <boost/interprocess/x.hpp>"),
    ("client-api/leat.h", "#include <unistd.h>"),
    ("server/plugins/trace/x.cpp", '#include "lib/base/status.hpp"'),
    ("server/x.cpp", "#include <hdf5.h>"),
])
def test_the_check_finds_what_is_forbidden(path, line):
    assert list(offences(path, f"// x\n{line}\n"))


def test_every_room_with_code_has_a_rule():
    without = [p for p in sources() if not rule_for(p) and not p.startswith(("tests/",))]
    assert not without
