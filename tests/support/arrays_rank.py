# SPDX-License-Identifier: Apache-2.0
"""A rank that writes arrays of NumPy: arrays_rank.py LIBLEAT XML SESSION RANK RANKS FILE.npz
[NODE_RANK NODE_RANKS]. The file has an array for each "variable.iteration";
"variable.position" and "mesh.level" (the level, and the first cell in it) are said once, before all. "variable#1" is
its block 1, and "=t" the parameter t, a number; "run.start" is the iteration that the run
begins with. After each iteration it prints its number and waits for a line."""
import ctypes
import sys

import numpy as np


class Ranks(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint64), *((name, ctypes.c_int32) for name in ("rank", "size", "node_rank", "node_size")),
                ("session", ctypes.c_char_p)]


def block_of(name):
    """(variable or mesh, block)."""
    name, _, block = name.partition("#")
    return name.encode(), int(block or 0)


def main(library, config, session, rank, size, file, node_rank=None, node_size=None):
    leat = ctypes.CDLL(library)
    leat.leat_last_error.restype = ctypes.c_char_p

    def must(status):
        assert status == 0, leat.leat_last_error().decode()

    rank, size = int(rank), int(size)
    on_node = (int(node_rank), int(node_size)) if node_size else (rank, size)
    must(leat.leat_init_ranks(config.encode(), ctypes.byref(Ranks(ctypes.sizeof(Ranks), rank, size, *on_node, session.encode()))))
    arrays = np.load(file)
    for name in arrays:
        what, _, kind = name.rpartition(".")
        numbers = [int(number) for number in np.atleast_1d(arrays[name])] if not kind.isdigit() else []
        if kind == "position":
            must(leat.leat_set_position(*block_of(what), (ctypes.c_int64 * len(numbers))(*numbers)))
        if kind == "level":
            must(leat.leat_set_level(*block_of(what), numbers[0], (ctypes.c_int64 * (len(numbers) - 1))(*numbers[1:])))
    first = int(arrays["run.start"]) if "run.start" in arrays else 0
    if first:
        must(leat.leat_start_at(ctypes.c_int64(first)))
    for iteration in range(first, 1 + max(int(name.rpartition(".")[2]) for name in arrays if name.rpartition(".")[2].isdigit())):
        for name in arrays:
            variable, _, number = name.rpartition(".")
            if number != str(iteration):
                continue
            if variable.startswith("="):
                parameter, value = variable[1:].encode(), arrays[name]
                if value.dtype.kind == "i" and leat.leat_set_int(parameter, ctypes.c_int64(int(value))) == 0:
                    continue
                must(leat.leat_set_double(parameter, ctypes.c_double(float(value))))
                continue
            array = np.ascontiguousarray(arrays[name])
            leat.leat_set_extent(*block_of(variable), (ctypes.c_int64 * array.ndim)(*array.shape))  # refused where it is fixed
            must(leat.leat_write_block(*block_of(variable), array.ctypes.data_as(ctypes.c_void_p)))
        must(leat.leat_end_iteration())
        print(iteration, flush=True)
        sys.stdin.readline()
    must(leat.leat_finalize())
    print("done", flush=True)


main(*sys.argv[1:])
