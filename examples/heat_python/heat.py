# SPDX-License-Identifier: Apache-2.0
"""Heat spreads on a plate, in NumPy, on one process or on MPI ranks by mpi4py.

    python3 heat.py heat.xml 200
    mpirun -n 2 python3 heat.py heat.xml 200

The arithmetic is that of examples/heat_c, so the results are equal to the last bit.
"""
import sys

import leat
import numpy as np

NY, NX = 64, 48


def communicator():
    """mpi4py's world, or None without mpi4py."""
    try:
        from mpi4py import MPI
        return MPI.COMM_WORLD
    except ImportError:
        return None


def start(first, rows):
    """Our rows of the plate, with a ghost row above and below: 300 K, and a square of 400 K."""
    T = np.full((rows + 2, NX), 300.0)
    for y in range(rows + 2):
        if 16 <= first + y - 1 < 32:
            T[y, 8:24] = 400.0
    return T


def exchange_ghosts(T, comm):
    if comm is None or comm.size == 1:
        return
    from mpi4py.MPI import PROC_NULL
    up = comm.rank - 1 if comm.rank > 0 else PROC_NULL
    down = comm.rank + 1 if comm.rank + 1 < comm.size else PROC_NULL
    comm.Sendrecv(T[1], up, recvbuf=T[-1], source=down)
    comm.Sendrecv(T[-2], down, recvbuf=T[0], source=up)


def step(T):
    left = np.concatenate([T[1:-1, :1], T[1:-1, :-1]], axis=1)
    right = np.concatenate([T[1:-1, 1:], T[1:-1, -1:]], axis=1)
    T[1:-1] = T[1:-1] + 0.1 * (((left + right) + (T[:-2] + T[2:])) - 4.0 * T[1:-1])


def main(config, steps):
    comm = communicator()
    rank, size = (comm.rank, comm.size) if comm else (0, 1)
    rows = NY // size
    T = start(rank * rows, rows)

    leat.init(config, comm)
    leat.set_ints("rows,before", [rows, rank * rows])
    for i in range(steps):
        exchange_ghosts(T, comm)
        leat.set("t", 0.1 * i)  # seconds
        leat.write("temperature", T)
        leat.end_iteration()
        step(T)
    leat.finalize()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
