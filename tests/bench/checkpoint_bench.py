#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""leat_read against h5py reading the same bytes: a checkpoint of two ranks, read whole and in a third by one, by turns with an HDF5 file
of the same array, from the page cache and from the disk. Usage: checkpoint_bench.py BUILD RESULTS.json"""
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

ROWS, COLUMNS = 6144, 4096  # 192 MiB of doubles
REPETITIONS = 9
XML = f"""<simulation name="bench"><architecture><dedicated cores="1"/><buffer size="320MiB" timeout="60s"/></architecture><data>
<layout name="cells" type="double" dimensions="?,{COLUMNS}" global="{ROWS},{COLUMNS}"/>
<group name="checkpoint" keep="1"><variable name="u" layout="cells"/></group></data></simulation>"""


class Ranks(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint64), ("rank", ctypes.c_int32), ("size", ctypes.c_int32), ("node_rank", ctypes.c_int32),
                ("node_size", ctypes.c_int32), ("session", ctypes.c_char_p)]


class Leat:
    """libleat, as a rank in this process has it."""

    def __init__(self, build, rank, size, session):
        self.library = ctypes.CDLL(str(build / "lib/libleat.so"))
        self.library.leat_last_error.restype = ctypes.c_char_p
        self.must("init_ranks", b"bench.xml", ctypes.byref(Ranks(ctypes.sizeof(Ranks), rank, size, rank, size, session.encode())))

    def must(self, call, *arguments):
        if getattr(self.library, f"leat_{call}")(*arguments) < 0:
            sys.exit(self.library.leat_last_error().decode())

    def place(self, begin, rows):
        self.must("set_extent", b"checkpoint/u", 0, (ctypes.c_int64 * 2)(rows, COLUMNS))
        self.must("set_position", b"checkpoint/u", 0, (ctypes.c_int64 * 2)(begin, 0))

    def array(self, call, data):
        self.must(call, b"checkpoint/u", data.ctypes.data_as(ctypes.c_void_p))


def whole():
    return np.random.default_rng(5).random((ROWS, COLUMNS))


def write(build, rank, session):
    leat, half = Leat(build, rank, 2, session), ROWS // 2
    leat.place(rank * half, half)
    leat.array("write", np.ascontiguousarray(whole()[rank * half:(rank + 1) * half]))
    leat.must("finalize")


def drop_from_cache(paths):
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def timed(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def read(build, session):
    """By turns, so that what else the machine does befalls both; medians, as bytes in a second."""
    leat, step = Leat(build, 0, 1, session), ctypes.c_int64()
    leat.must("restart_step", ctypes.byref(step))
    assert step.value == 1, step
    files, results = [*pathlib.Path("bench.checkpoint").glob("*.data"), pathlib.Path("same.h5")], {}
    for what, begin, rows in (("whole", 0, ROWS), ("a third", 100, ROWS // 3)):
        leat.place(begin, rows)
        arrays = [np.ones((rows, COLUMNS)) for _ in range(2)]

        def by_h5py(target=arrays[1], begin=begin, rows=rows):
            with h5py.File("same.h5") as file:
                file["u"].read_direct(target, np.s_[begin:begin + rows])
        for cache in ("page cache", "disk"):
            times = ([], [])
            for turn in range(REPETITIONS):
                both = [lambda target=arrays[0]: leat.array("read", target), by_h5py]
                for each in (0, 1) if turn % 2 else (1, 0):
                    if cache == "disk":
                        drop_from_cache(files)
                    times[each].append(timed(both[each]))
            assert arrays[0].tobytes() == arrays[1].tobytes()
            ours, theirs = (arrays[0].nbytes / statistics.median(each) for each in times)
            results[f"{what}, {cache}"] = {"leat": ours, "h5py": theirs, "ratio": ours / theirs, "seconds": times}
            print(f"{what + ' from the ' + cache:28} leat_read {ours / 1e9:6.2f} GB/s   h5py {theirs / 1e9:6.2f} GB/s   "
                  f"ratio {ours / theirs:.2f}")
    leat.must("finalize")
    return results


def main(build, results):
    if len(sys.argv) > 3:  # a rank
        return write(build, int(sys.argv[3]), sys.argv[4])
    with tempfile.TemporaryDirectory(dir=results.parent, prefix="checkpoint-bench-") as folder:
        os.environ.update(LEAT_RUNTIME_DIR=folder + "/r", LEAT_SERVER=str(build / "bin/leatd"))
        os.chdir(folder)
        pathlib.Path("bench.xml").write_text(XML)
        with h5py.File("same.h5", "w") as file:
            file["u"] = whole()
        ranks = [subprocess.Popen([sys.executable, __file__, build, results, str(rank), f"bench-{os.getpid()}"]) for rank in range(2)]
        assert [rank.wait() for rank in ranks] == [0, 0]
        results.write_text(json.dumps(read(build, f"bench-{os.getpid()}-read"), indent=1))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
