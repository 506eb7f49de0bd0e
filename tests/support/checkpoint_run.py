# SPDX-License-Identifier: Apache-2.0
"""Runs that write checkpoints of a global array in blocks, and runs that read them in other blocks; NumPy says what is right."""
import contextlib
import os
import pathlib
import signal

import numpy as np
from leat_run import await_death, data, same_bits

GLOBAL = (23, 17)
GHOSTS = ((1, 2), (2, 1))  # low and high, of each dimension
UNTOUCHED = 0x5a


def data_xml(keep=2, store="", ghosts=GHOSTS, size=GLOBAL, more=""):
    """A group of checkpoints: u in doubles with ghosts, k in integers without, own of each rank."""
    layout = ",".join(f"{low}:{high}" for low, high in ghosts)
    return f"""<parameter name="t" type="double"/><parameter name="n" type="int"/><parameter name="s" type="string"/>
<parameter name="fixed" type="int" value="7"/>
<layout name="cells" type="double" dimensions="?,?" global="{size[0]},{size[1]}" ghosts="{layout}"/>
<layout name="plain" type="int" dimensions="?,?" global="{size[0]},{size[1]}"/>
<layout name="own" type="float" dimensions="?"/>
<group name="checkpoint" keep="{keep}"{store}>
<variable name="u" layout="cells"/><variable name="k" layout="plain"/><variable name="own" layout="own"/></group>{more}"""


def split(size, parts):
    """First and number of the cells of each part."""
    pieces = np.array_split(np.arange(size), parts)
    return [(int(piece[0]), len(piece)) for piece in pieces]


def blocks_of(ranks, size=GLOBAL):
    """By rank: position and extent of its cells; as square as may be, and not in the order of the rows."""
    rows = max(n for n in range(1, ranks + 1) if ranks % n == 0 and n * n <= ranks)
    if ranks in (3, 8):  # the other way round than 2 and 4
        rows = ranks // rows
    all_blocks = [((y, x), (ny, nx)) for y, ny in split(size[0], rows) for x, nx in split(size[1], ranks // rows)]
    return all_blocks[::-1]


def with_ghosts(extent, ghosts):
    return tuple(n + low + high for n, (low, high) in zip(extent, ghosts))


def seed_of(name, rank, step):
    return 1000 * step + 10 * rank + len(name)


def place(rank, name, position, extent):
    rank.must("set_extent", name, 0, ",".join(map(str, extent)))
    if position:
        rank.must("set_position", name, 0, ",".join(map(str, position)))


def write_checkpoint(run, step, ghosts=GHOSTS, size=GLOBAL, end=True):
    """In the current iteration of all ranks."""
    blocks = blocks_of(len(run.ranks), size)
    for rank, (position, extent) in zip(run.ranks, blocks):
        all_cells = with_ghosts(extent, ghosts)
        place(rank, "checkpoint/u", position, all_cells)
        place(rank, "checkpoint/k", position, extent)
        place(rank, "checkpoint/own", None, (5 + rank.number,))
        for name, count, bytes_ in (("u", np.prod(all_cells), 8), ("k", np.prod(extent), 4), ("own", 5 + rank.number, 4)):
            answer = rank.write(f"checkpoint/{name}", count * bytes_, seed_of(name, rank.number, step))
            assert answer.ok, answer
    if end:
        end_all(run)


def end_all(run):
    for rank in run.ranks:
        rank.start("end_iteration")
    for rank in run.ranks:
        assert rank.result().ok


def written(ranks, step, ghosts=GHOSTS, size=GLOBAL):
    """The global arrays of that checkpoint, of the blocks that leat_rank wrote."""
    u, k = np.zeros(size, "f8"), np.zeros(size, "i4")
    for rank, (position, extent) in enumerate(blocks_of(ranks, size)):
        inner = tuple(slice(low, low + n) for (low, _), n in zip(ghosts, extent))
        cells = tuple(slice(p, p + n) for p, n in zip(position, extent))
        all_cells = with_ghosts(extent, ghosts)
        u[cells] = data(int(np.prod(all_cells)), "f8", seed_of("u", rank, step)).reshape(all_cells)[inner]
        k[cells] = data(int(np.prod(extent)), "i4", seed_of("k", rank, step)).reshape(extent)
    return u, k


def expected(whole, position, extent, ghosts):
    """A block as it is to be read: cells outside of the global array are untouched."""
    all_cells = with_ghosts(extent, ghosts)
    block = np.frombuffer(bytes([UNTOUCHED]) * int(np.prod(all_cells)) * whole.itemsize, whole.dtype).reshape(all_cells).copy()
    begin = [p - low for p, (low, _) in zip(position, ghosts)]
    inside = tuple(slice(max(0, b), min(b + n, g)) for b, n, g in zip(begin, all_cells, whole.shape))
    here = tuple(slice(s.start - b, s.stop - b) for s, b in zip(inside, begin))
    block[here] = whole[inside]
    return block


def read(rank, name, bytes_):
    """The answer, and the bytes that are in the array afterwards."""
    path = pathlib.Path(rank.run.folder) / f"read-{rank.number}.bin"
    answer = rank.call("read", name, 0, bytes_, path)
    return answer, path.read_bytes()


def check_read(run, ranks_before, step, ghosts_before=GHOSTS, ghosts=GHOSTS, size=GLOBAL):
    """All ranks read their blocks of now; every bit is as NumPy says."""
    u, k = written(ranks_before, step, ghosts_before, size)
    for rank, (position, extent) in zip(run.ranks, blocks_of(len(run.ranks), size)):
        for name, whole, edge in (("u", u, ghosts), ("k", k, ((0, 0), (0, 0)))):
            wanted = expected(whole, position, extent, edge)
            place(rank, f"checkpoint/{name}", position, wanted.shape)
            answer, got = read(rank, f"checkpoint/{name}", wanted.nbytes)
            assert answer.ok, answer
            assert same_bits(np.frombuffer(got, wanted.dtype).reshape(wanted.shape), wanted), (name, rank.number)


def restart(run):
    """leat_init and leat_restart_step on all ranks; what they all say."""
    run.init()
    answers = [rank.must("restart_step").value for rank in run.ranks]
    assert len(set(answers)) == 1 and all(rank.call("iteration").value == answers[0] for rank in run.ranks)
    return answers[0]


@contextlib.contextmanager
def doomed(run):
    """A run that is killed within, and leaves what it had in memory to the next one."""
    try:
        yield run
    finally:
        servers = list(run.servers())
        for pid in servers:
            os.kill(pid, signal.SIGKILL)
        for rank in run.ranks:
            rank.stop_process()
        for pid in servers:
            await_death(pid)  # what still holds its locks has not left anything yet


def published(folder):
    """Iterations that have an index, in ascending order."""
    return sorted({int(path.name.split("-")[1].split(".")[0]) for path in pathlib.Path(folder).glob("checkpoint-*.index")})


def lines_of(index):
    """An index as lists of words; whether its last line has the sum of all before is for others to say."""
    return [line.split("\t") for line in pathlib.Path(index).read_text().splitlines()]
