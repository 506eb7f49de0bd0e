# SPDX-License-Identifier: Apache-2.0
"""The ways of output that are compared: one line each."""

import dataclasses

from .tools import adios2_python, debian_python, job_program


@dataclasses.dataclass(frozen=True)
class Method:
    name: str  # as the job knows it
    title: str  # as the page calls it
    program: object  # gives the start of its command, or says why there is none: tools.Missing
    reads: str  # how verify.py reads what it wrote; "": nothing is written
    needs: str = ""  # beyond what Leat needs itself
    extra_ranks: int = 0
    base: str = "none"  # the job without output that it is compared to
    durable: bool = True  # can say when an iteration is on the disk
    quick: bool = False  # is part of the test


JOB, PARALLEL = job_program("leat_bench_job"), job_program("leat_bench_parallel_hdf5")
PYTHON, ADIOS2 = debian_python(), adios2_python()

METHODS = {
    method.name: method
    for method in (
        Method("none", "no output", JOB, "", quick=True),
        Method("leat-write", "Leat, `leat_write`", JOB, "leat", quick=True),
        Method("leat-commit", "Leat, `leat_alloc` and `leat_commit`", JOB, "leat", quick=True),
        Method("posix-write", "`pwrite`, a file per process", JOB, "file-per-rank", quick=True),
        Method("hdf5-file", "HDF5, a file per process", JOB, "hdf5-per-rank", quick=True),
        Method("hdf5-parallel", "parallel HDF5, collective", PARALLEL, "hdf5-shared", "libhdf5-openmpi-dev"),
        Method("mpi-io", "MPI-IO, collective", JOB, "shared-file", quick=True),
        Method("mpi-isend", "`MPI_Isend` to a rank that writes", JOB, "shared-file", extra_ranks=1, quick=True),
        Method("posix-aio", "POSIX AIO, two buffers", JOB, "file-per-rank", quick=True),
        Method("io-uring", "io_uring, two buffers, copied", JOB, "file-per-rank", "liburing-dev"),
        Method("io-uring-flip", "io_uring, the simulation changes buffers", JOB, "file-per-rank", "liburing-dev"),
        Method("python-none", "no output, job in Python", PYTHON, "", base="python-none", quick=True),
        Method(
            "shared-memory",
            "Python `multiprocessing.shared_memory`",
            PYTHON,
            "file-per-rank",
            base="python-none",
            quick=True,
        ),
        Method("adios2-bp5", "ADIOS2 BP5, a file per process", ADIOS2, "bp5", "adios2 of PyPI", base="python-none"),
        Method(
            "adios2-bp5-async",
            "ADIOS2 BP5 with AsyncWrite",
            ADIOS2,
            "bp5",
            "adios2 of PyPI",
            base="python-none",
            durable=False,
        ),
        Method(
            "adios2-sst",
            "ADIOS2 SST to a process that writes",
            ADIOS2,
            "file-per-rank",
            "adios2 of PyPI",
            base="python-none",
        ),
    )
}
