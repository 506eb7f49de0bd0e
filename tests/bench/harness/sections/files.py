# SPDX-License-Identifier: Apache-2.0
"""Few files of many servers, and few servers that write at one time."""

import json
import shutil

from .. import launch
from ..markdown import table, time_text
from ..tools import BUILD, SYSTEM_PYTHON

TITLE = "Files at scale"
ABOUT = """*Shared files*: servers that are pretended, a process each with the `hdf5` store in it, on the cores and the local
disk of this machine; into a file of each, or into few, in turn. Turns are semaphores here, so this is what sharing a
file costs, without messages. The time is that from the start of all until all have closed; of several repetitions in turn
the least. Both views are read by h5py and compared. *Turns*: engines and their stores in one process, whose disk does one
thing after the other, 1 ms each: all of them at once, or as many as `max-writers` says. *Varies* is the standard deviation
of what one server takes to write an iteration, from where it may. No parallel file system was there to be measured."""

SECONDS = 60
PLUGIN = BUILD / "lib/leat/plugins/hdf5.so"
MIB = 1 << 20
SAME = """
import h5py, sys
with h5py.File(sys.argv[1]) as one, h5py.File(sys.argv[2]) as other:
    assert one["iteration"][:].tolist() == other["iteration"][:].tolist() == list(range(int(sys.argv[3])))
    for row in range(int(sys.argv[3])):
        assert (one["v0"][row] == other["v0"][row]).all()
    assert one["v0"][0, :: one["v0"].shape[1] // int(sys.argv[4])].tolist() == list(range(1, int(sys.argv[4]) + 1))
"""


def _bench(*words):
    return json.loads(launch.run([BUILD / "bin/leat_files_bench", *map(str, words)])[0])


def _shared(context, servers, files, iterations, size, repetitions):
    times = {0: [], files: []}
    for _ in range(repetitions):
        for count in times:
            folder = context.folder / f"files-{count}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            times[count].append(_bench("shared", PLUGIN, folder, servers, count, iterations, size)["seconds"])
    views = [context.folder / f"files-{count}/bench.h5" for count in times]
    launch.run([SYSTEM_PYTHON, "-c", SAME, *views, iterations, servers])
    for count in times:
        shutil.rmtree(context.folder / f"files-{count}")
    return {"servers": servers, "files": files, "own_s": min(times[0]), "shared_s": min(times[files])}


def _turns(servers, most, iterations, quanta):
    return {
        "servers": servers,
        "most": most,
        "at_once": _bench("turns", servers, 0, iterations, quanta),
        "in_turn": _bench("turns", servers, most, iterations, quanta),
    }


def measure(context):
    context.say("files")
    if context.quick:
        return {"shared": _shared(context, 8, 2, 2, MIB // 8, 1), "turns": _turns(4, 1, 3, 3)}
    return {"shared": _shared(context, 64, 4, 4, 2 * MIB, 3), "turns": _turns(8, 2, 20, 20)}


def page(data):
    shared, turns = data["shared"], data["turns"]
    at_once, in_turn = turns["at_once"], turns["in_turn"]
    ratio, relative = shared["shared_s"] / shared["own_s"], in_turn["seconds"] / at_once["seconds"]
    few = f"the same into {shared['files']} files"
    alone, together = time_text(1e9 * shared["own_s"]), time_text(1e9 * shared["shared_s"])
    return table(
        ["", "", ""],
        [
            [f"{shared['servers']} servers, a file of each", alone, ""],
            [few, together, f"{ratio:.2f} times"],
            [f"{turns['servers']} servers at once", *_of_turns(at_once)],
            [f"at most {turns['most']} at one time", *_of_turns(in_turn, f"{relative:.2f} times; ")],
        ],
    )


def _of_turns(figures, begin=""):
    return [time_text(1e9 * figures["seconds"]), f"{begin}varies by {time_text(1e9 * figures['deviation_s'])}"]
