# SPDX-License-Identifier: Apache-2.0
"""cluster_leat.py RANKS WARM_UP ITERATIONS ROWS WIDTH FOLDER LIBLEAT: what Leat takes from the moment when ranks begin to write an
iteration to the call of a function of the whole run, and from the moment when the last of them ends it: each rank is a process, on a
node of its own. FOLDER has run.xml and the script, which writes when it was called, and was done, into FOLDER/times. Prints the
nanoseconds as JSON."""

import ctypes
import json
import os
import pathlib
import sys
import time
import uuid

import numpy as np
from cluster_ranks import comms_of, context, iterate


class Ranks(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint64), *((name, ctypes.c_int32) for name in ("rank", "size", "node_rank", "node_size")),
                ("session", ctypes.c_char_p)]


def times_in(folder, count, mode="r+"):
    return dict(zip(("began", "called", "done"), np.memmap(folder / "times", "i8", mode, shape=(3, count))))


def simulate(comm, library, folder, session, count, rows, width, ended):
    rank, size = comm.Get_rank(), comm.Get_size()
    os.chdir(folder)
    os.environ["LEAT_RUNTIME_DIR"] = str(folder / f"r-node{rank}")
    leat = ctypes.CDLL(library)
    leat.leat_last_error.restype = ctypes.c_char_p

    def must(status):
        if status:
            raise SystemExit(leat.leat_last_error().decode())

    must(leat.leat_init_ranks(b"run.xml", ctypes.byref(Ranks(ctypes.sizeof(Ranks), rank, size, 0, 1, session.encode()))))
    must(leat.leat_set_position(b"u", 0, (ctypes.c_int64 * 2)(rows * rank, 0)))
    data = np.random.default_rng(rank).random((rows, width))

    def write(i):
        must(leat.leat_write(b"u", data.ctypes.data_as(ctypes.c_void_p)))
        ended[rank * count + i] = time.monotonic_ns()
        must(leat.leat_end_iteration())

    iterate(comm, count, times_in(folder, count), write)
    must(leat.leat_finalize())


def main(ranks, warm_up, iterations, rows, width, folder, library):
    count, folder = warm_up + iterations, pathlib.Path(folder)
    times = times_in(folder, count, "w+")
    ended = context.Array("q", ranks * count, lock=False)
    words = library, folder, f"bench-{uuid.uuid4().hex[:12]}", count, rows, width, ended
    processes = [context.Process(target=simulate, args=(comm, *words)) for comm in comms_of(ranks)]
    [each.start() for each in processes]
    [each.join() for each in processes]
    if any(each.exitcode for each in processes):
        log = folder / "log"
        raise SystemExit(f"a rank has failed: {log.read_text()[-2000:] if log.exists() else ''}")
    last = np.array(ended).reshape(ranks, count).max(axis=0)
    told = {"from_write_ns": times["called"] - times["began"], "from_end_ns": times["called"] - last,
            "to_result_ns": times["done"] - times["began"]}
    print(json.dumps({name: each[warm_up:].tolist() for name, each in told.items()}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:6]), *sys.argv[6:])
