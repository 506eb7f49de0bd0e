# SPDX-License-Identifier: Apache-2.0
"""docs/design/rooms.md as a check: which room may include what."""
import graphlib
import re

import pytest
from tree import ROOT, sources

POSIX = {"cerrno", "dirent.h", "dlfcn.h", "elf.h", "errno.h", "fcntl.h", "grp.h", "link.h", "linux/futex.h", "poll.h", "pthread.h", "pwd.h",
         "sched.h",
         "signal.h", "spawn.h", "syscall.h", "time.h", "unistd.h", "sys/"}
EPOLL = ("sys/epoll.h", "sys/socket.h", "sys/timerfd.h", "sys/eventfd.h", "sys/signalfd.h", "unistd.h", "signal.h")
STATE = tuple(f"server/state{room}" for room in ("", "/trace", "/journal", "/iterations", "/clients", "/memory", "/parameters", "/group",
                                                "/signals", "/spill", "/ledger"))
SERVER = ("fmt/", "nlohmann/", "unistd.h")
LIBS = ("lib/base", "lib/os", "lib/node", "lib/shm", "lib/frames", "lib/model", "lib/comm")
LIBS_OF_RANKS = ("lib/base", "lib/os", "lib/node", "lib/shm", "lib/checkpoint")
HDF5 = ("hdf5.h", "hdf5_hl.h")
# libdamaris is built by its installed folder alone too: its headers are found beside its sources.
DAMARIS = ("Damaris.h", "allocations.hpp", "codes.def", "description.hpp", "environment.hpp", "parameters.hpp", "status.hpp")


def wings(*names):
    """What a wing of the hdf5 store may include."""
    return ("server/include", "server/plugins/common", "lib/base", "lib/os", *(f"server/plugins/hdf5/{name}" for name in names))


# room (the longest prefix counts): rooms whose headers it may have beside its own, or single headers;
# headers of others beside the C and C++ standard
RULES = {
    "lib/base": ((), ()),
    "lib/os": (("lib/base",), (*POSIX, "immintrin.h", "numa.h", "numaif.h")),
    "lib/node": (("lib/base", "lib/os"), POSIX),
    "lib/shm": (("lib/base", "lib/os", "lib/node"), ("boost/interprocess/",)),
    "lib/model": (("lib/base",), ("nlohmann/", "xercesc/", "dlfcn.h", "fnmatch.h", "muParser.h", "udunits2.h")),
    "lib/comm": (("lib/base", "lib/os"), (*POSIX, "openssl/", "arpa/inet.h", "ifaddrs.h", "net/if.h", "netinet/")),
    "lib/staging": (("lib/base", "lib/os", "lib/comm"), ("unistd.h", "nlohmann/")),
    "lib/control": (("lib/base", "lib/os", "lib/node", "lib/shm", "lib/model"), ("nlohmann/",)),
    "lib/checkpoint": (("lib/base", "lib/os"), POSIX),
    "lib/frames": (("lib/base", "lib/os"), ("nlohmann/",)),
    "client-api/connect": (("client-api/api/leat.h", "client-api/api/leat_build.h", *LIBS_OF_RANKS),
                           ("dlfcn.h", "poll.h", "time.h", "unistd.h")),
    "client-api/session": (("client-api/api/leat.h", "client-api/api/leat_build.h", "client-api/connect", *LIBS_OF_RANKS),
                           ("unistd.h", "fcntl.h")),
    "client-api/api": (("client-api/api/leat.h", "client-api/api/leat_build.h", "client-api/connect", "client-api/session",
                        *LIBS_OF_RANKS), ("unistd.h",)),
    "client-api/api/leat.h": ((), ()),
    "client-api/api/leat_build.h": (("leat.h",), ()),
    "client-api/api/leat_stub.h": ((), POSIX),
    "client-api/api/leat.hpp": (("leat_build.h", "leat_calls.hpp"), ()),
    "client-api/api/leat_calls.hpp": (("leat.hpp",), ()),
    "client-api/api/leat_mpi.h": (("leat_build.h",), ("mpi.h", "unistd.h", "time.h", "stdlib.h")),
    "client-api/module": (("client-api/module/leat_module.h", "leat_module.h", "lib/base", "lib/os", "lib/frames"), ("nlohmann/", *POSIX)),
    "client-api/module/leat_module.h": (("leat.h",), ()),
    "client-api/module/leat_module.hpp": (("leat_module.h", "leat.hpp"), ()),
    # From the lowest to the highest: no circle.
    "server/state": (LIBS, SERVER),
    **{room: ((*LIBS, *STATE[:i]), SERVER) for i, room in enumerate(STATE) if i},
    "server/derive": ((*LIBS, *STATE), SERVER),
    "server/pipeline": ((*LIBS, "server/include", *STATE, "server/derive"), (*SERVER, "signal.h")),
    "server/workers/python": (("lib/base", "lib/os", "lib/node", "lib/model"), ("nlohmann/",)),
    "server/workers": ((*LIBS, "lib/staging", "server/include", *STATE, "server/pipeline", "server/workers/python"),
                       (*SERVER, "signal.h", "muParser.h")),
    "server/engine": ((*LIBS, "lib/control", *STATE, "server/pipeline", "server/workers"), SERVER),
    "server/driver": ((*LIBS, "lib/control", "lib/staging", "lib/checkpoint",
                       *STATE, "server/pipeline", "server/workers", "server/workers/python", "server/engine",
                       "server/hosts"),
                      (*SERVER, *EPOLL, "CLI/", "fcntl.h", "signal.h")),
    "server/cli": ((*LIBS, "lib/checkpoint", "lib/control", "server/workers/python"),
                       ("CLI/", "nlohmann/", "unistd.h", "sys/ioctl.h", "sys/stat.h", "langinfo.h", "curses.h", "poll.h", "signal.h")),
    "server/staging": ((*LIBS, "lib/staging", "client-api/connect", "client-api/session"),
                       ("CLI/", "nlohmann/", *POSIX)),
    "server/hosts": ((*LIBS, "lib/staging", "client-api/module", "server/workers/worker_process.hpp", "server/workers/python"),
                     ("CLI/", "nlohmann/", "netinet/", *POSIX)),
    "server/include": (("plugin.h",), ()),
    "server/plugins/common": ((), POSIX),
    "server/plugins/raw": (("server/include", "server/plugins/common"),
                           ("fcntl.h", "nlohmann/", "sys/file.h", "sys/mman.h", "sys/stat.h", "unistd.h")),
    "server/plugins/checkpoint": (("server/include", "server/plugins/common", "lib/base", "lib/os", "lib/checkpoint"), POSIX),
    "server/plugins/trace": (("server/include",), ("fcntl.h", "sys/stat.h", "unistd.h")),
    "server/plugins/analytics": (("server/include",), ("fcntl.h", "unistd.h")),
    "server/plugins/staging": (("server/include", "lib/base", "lib/os", "lib/comm", "lib/staging"), ("nlohmann/", *POSIX)),
    # From the bottom: each wing includes only wings above it in this list.
    "server/plugins/hdf5/disk": (("server/plugins/common", "lib/base", "lib/os"), POSIX),
    "server/plugins/hdf5/base": (wings("disk"), (*HDF5, *POSIX)),
    "server/plugins/hdf5/filters": (wings("base"), (*HDF5, "dlfcn.h", "link.h")),
    "server/plugins/hdf5/datasets": (wings("base", "filters"), HDF5),
    "server/plugins/hdf5/conventions": ((*wings("base", "datasets"), "lib/model/seen_fields.hpp"), (*HDF5, "nlohmann/")),
    "server/plugins/hdf5/arrays": (wings("base", "filters", "datasets", "conventions"), HDF5),
    "server/plugins/hdf5/vtkhdf": (wings("base", "datasets", "conventions"), HDF5),
    "server/plugins/hdf5/view": (wings("disk", "base", "filters", "datasets", "conventions", "vtkhdf"), (*HDF5, *POSIX)),
    "server/plugins/hdf5/output": ((*wings("disk", "base", "filters", "datasets", "conventions", "arrays", "vtkhdf", "view"),
                                    "lib/model/splitting.hpp"),
                                   (*HDF5, "nlohmann/", *POSIX)),
    "server/plugins/hdf5/tools": (wings("disk", "base", "filters", "view", "output"), (*HDF5, "nlohmann/", *POSIX)),
    "python-plugins": ((), ("leat_build.h", "leat_calls.def", "pybind11/")),
    # Integrations. Loaded into programs that have libc alone:
    "client-api/integrations/mpi-profiling": ((), ("leat.h", "stdatomic.h", *POSIX)),
    "client-api/integrations/openmp": ((), ("leat.h", "stdatomic.h", "strings.h")),
    # Compiled by users, with their oneTBB, and with their own MPI against an installed Leat.
    "client-api/integrations/tbb": ((), ("leat_build.h", "oneapi/tbb/")),
    "client-api/integrations/damaris": (DAMARIS, ("leat.h", "leat_build.h", "leat_mpi.h", "mpi.h", "unistd.h")),
    "client-api/integrations/damaris/damaris": ((), ("Damaris.h", "damaris/")),
    # With their own ADIOS2 or PDI.
    "client-api/integrations/adios2": (("put_array.hpp",), ("leat_build.h", "adios2/")),
    "client-api/integrations/pdi": ((), ("leat_build.h", "leat_mpi.h", "pdi/")),
    "fortran": (("leat_build.h",), ("ISO_Fortran_binding.h",)),
    "examples/amr_advection": (("hierarchy.hpp",), ("leat_mpi.h", "mpi.h")),
    "examples/heat_c": ((), ("leat_mpi.h", "mpi.h")),
    "examples/remap": ((), ("leat.h",)),
    "examples/heat_openmp": ((), ("leat.h", "omp.h")),
    "examples/lammps": ((), ("leat_mpi.h", "mpi.h", "lammps/library.h")),
    "examples/md_tbb": (("particles.hpp",), ("leat.h", "leat_tbb.hpp", "tbb/")),
    "examples/statistics_plugin": ((), ("leat/plugin.hpp",)),
}
C_STANDARD = {f"{n}.h" for n in ("assert errno inttypes limits math stdarg stdbool stddef stdint stdio stdlib string "
                                 "threads complex").split()}


def room_of(path):
    rooms = [room for room in RULES if path == room or path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def is_standard(header):
    return header in C_STANDARD or re.fullmatch(r"[a-z_]+", header) is not None


def may_have(room, kind, header):
    own, others = RULES[room]
    if kind == '"':
        return header in own or (room_of(header) or "no room") in (room, *own)
    return is_standard(header) or any(header.startswith(o) if o.endswith("/") else header == o for o in others)


def offences(path, text):
    """Includes in `text` that the room of `path` may not have."""
    includes = re.findall(r'^\s*#\s*include\s*([<"])([^">]+)[">]', text, re.M)
    return [header for kind, header in includes if not may_have(room_of(path), kind, header)]


@pytest.mark.parametrize("path", [p for p in sources() if room_of(p)])
def test_a_room_includes_only_what_it_may(path):
    assert not offences(path, (ROOT / path).read_text())


@pytest.mark.parametrize("path, line", [
    ("lib/base/x.hpp", '#include "lib/shm/layout.hpp"'),
    ("lib/shm/x.cpp", "#include <xercesc/dom/DOM.hpp>"),
    ("client-api/session/x.cpp", "#include <mpi.h>"),
    ("client-api/session/x.cpp", "#include <boost/interprocess/x.hpp>"),
    ("client-api/connect/x.cpp", "#include <sys/socket.h>"),
    ("client-api/api/x.cpp", '#include "server/engine/engine.hpp"'),
    ("client-api/connect/x.cpp", '#include "client-api/session/session.hpp"'),
    ("client-api/session/x.cpp", '#include "client-api/api/leat.hpp"'),
    ("client-api/api/leat.h", "#include <unistd.h>"),
    ("client-api/api/leat.h", '#include "lib/base/status.hpp"'),
    ("client-api/api/leat.hpp", '#include "client-api/session/session.hpp"'),
    ("server/plugins/trace/x.cpp", '#include "lib/base/status.hpp"'),
    ("server/plugins/hdf5/output/x.cpp", '#include "server/plugins/trace/trace.hpp"'),
    ("server/plugins/hdf5/output/x.cpp", '#include "server/pipeline/pipeline.hpp"'),
    ("server/plugins/hdf5/disk/x.cpp", '#include "server/plugins/hdf5/base/objects.hpp"'),
    ("server/plugins/hdf5/disk/x.cpp", "#include <hdf5.h>"),
    ("server/plugins/hdf5/vtkhdf/x.cpp", '#include "server/plugins/hdf5/view/part.hpp"'),
    ("server/plugins/hdf5/vtkhdf/x.cpp", '#include "server/plugins/hdf5/no_wing/part.hpp"'),
    ("server/engine/x.cpp", '#include "server/plugins/hdf5/output/store.hpp"'),
    ("server/engine/x.cpp", "#include <sys/epoll.h>"),
    ("server/state/memory/x.cpp", '#include "server/engine/engine.hpp"'),
    ("server/state/memory/x.cpp", '#include "server/state/ledger/ledger.hpp"'),
    ("lib/os/x.cpp", '#include "lib/node/placement.hpp"'),
    ("server/engine/x.cpp", '#include "server/driver/driver.hpp"'),
    ("server/engine/x.cpp", '#include "no_room.hpp"'),
    ("server/cli/x.cpp", '#include "server/workers/script_pool.hpp"'),
    ("server/cli/x.cpp", '#include "server/driver/control_channel.hpp"'),
    ("lib/control/x.cpp", "#include <sys/epoll.h>"),
    ("server/engine/x.cpp", '#include "server/driver/control_channel.hpp"'),
    ("server/engine/x.cpp", "#include <hdf5.h>"),
    ("client-api/integrations/damaris/x.cpp", '#include "client-api/session/session.hpp"'),
    ("examples/heat_c/x.c", '#include "lib/base/status.hpp"'),
])
def test_the_check_finds_what_is_forbidden(path, line):
    assert offences(path, f"// x\n{line}\n")


# Rooms that are drawn as wings and arrows, with the most that one can still look at.
WITH_WINGS = ("server/plugins/hdf5",)
MOST_WINGS, MOST_ARROWS = 15, 40


def wing_of(room, path):
    return path.removeprefix(room + "/").partition("/")[0] if path.startswith(room + "/") else None


def arrows(room, texts):
    """(wing, wing that it includes) of the files in `texts`, path to text; a file of no wing is one by itself."""
    found = {(wing_of(room, path), wing_of(room, header)) for path, text in texts.items() if wing_of(room, path)
             for header in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M)}
    return {(a, b) for a, b in found if b and a != b}


def circle(pairs):
    """Nodes of a circle of arrows, or [] when there is none."""
    above = {}
    for a, b in pairs:
        above.setdefault(a, set()).add(b)
    try:
        graphlib.TopologicalSorter(above).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("room", WITH_WINGS)
def test_wings_include_each_other_in_one_direction(room):
    pairs = arrows(room, {p: (ROOT / p).read_text() for p in sources()})
    assert circle(pairs) == []
    assert len(pairs) <= MOST_ARROWS
    assert len({wing for pair in pairs for wing in pair}) <= MOST_WINGS


def test_what_is_allowed_has_no_circle_either():
    assert circle({(a, b) for a in RULES for b in RULES[a][0] if a != b and b in RULES}) == []


def test_a_circle_of_wings_is_found():
    texts = {"r/a/x.hpp": '#include "r/b/y.hpp"\n', "r/b/y.hpp": '#include "r/c/z.hpp"\n#include "lib/w.hpp"\n', "r/c/z.hpp": ""}
    assert circle(arrows("r", texts)) == []
    assert set(circle(arrows("r", {**texts, "r/c/z.cpp": '#include "r/a/x.hpp"\n'}))) == {"a", "b", "c"}


def test_every_room_with_code_has_a_rule():
    assert not [p for p in sources() if not room_of(p) and not p.startswith("tests/")]


def test_the_design_page_speaks_of_every_room():
    page = (ROOT / "docs/design/rooms.md").read_text()
    named = re.findall(r"^\| `([\w/*-]+)` \|", page, re.M)
    assert {r for r in RULES if not any(r.startswith(n.removesuffix("/*")) for n in named)} == set()
