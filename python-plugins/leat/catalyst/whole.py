# SPDX-License-Identifier: Apache-2.0
"""One iteration of all servers of the run on the first one, for a script with scope="run". Each gives its blocks, without ghosts; what
does not vary in time goes over the network once. All servers do the same rounds, and each of them ends in time whatever another does."""
import hashlib
import json

import numpy as np

from ..scripting import reductions
from ..scripting.blocks import Block
from ..scripting.iteration import Iteration
from ..vtk.meshes import why_not

_AT_A_TIME = reductions.MOST_GATHERED - 4096  # bytes of one server in one round
_IN_ROUND = 64 << 20                          # of all servers, which each server gets
_PLACE = 16                                   # bytes, of which the place of an array is a multiple
_COPIES = 2                                   # of what all give, on the first server: as it came, and as one array of each variable


class TooMuch(MemoryError):
    """The first server has no memory for what all have."""


class WholeIteration(Iteration):
    """What is here, and what other servers gave. blocks: {name: [Block]}, without ghosts; extents: {name: of the whole array}."""

    def __init__(self, own, blocks, extents):
        super().__init__(own.model, own.number, own.complete, own.parameters, own.time)
        self._blocks = {name: sorted(each, key=lambda block: (block.rank, block.block)) for name, each in blocks.items()}
        self._extents = extents

    def names(self):
        return list(self._blocks)

    def parts(self, name):
        return self._blocks[name]

    def global_extent(self, name):
        return self._extents[name]


class Section:
    """Blocks of one server, as bytes: how many say where they are, that, and the arrays."""

    def __init__(self, iteration, variables):
        here = set(iteration.names())
        self.blocks = [(variable, block) for variable in variables if variable.name in here for block in iteration.parts(variable.name)]
        told = [[v.number, b.rank, b.block, b.level, _plain(b.position), list(b.data.shape), _plain(_extent(iteration, v))]
                for v, b in self.blocks]
        head = json.dumps(told).encode() if told else b""
        self._head = b"".join([len(head).to_bytes(_PLACE, "little"), head, bytes(-len(head) % _PLACE)]) if told else b""
        self.size = len(self._head) + sum(_padded(block.data.nbytes) for _, block in self.blocks)

    def parts(self):
        """Arrays of bytes, of which one at a time is in memory."""
        yield np.frombuffer(self._head, "u1")
        for _, block in self.blocks:
            values = np.ascontiguousarray(block.data).reshape(-1).view("u1")
            yield values
            yield np.zeros(_padded(values.size) - values.size, "u1")

    def digest(self):
        """Another one where anything of it is another one."""
        made = hashlib.blake2b(digest_size=16)
        for part in self.parts():
            made.update(part)
        return made.hexdigest()


def read_section(data, model, blocks, extents):
    """What Section gave goes to `blocks` and `extents`; the arrays are views of `data`."""
    if not len(data):
        return
    size = int.from_bytes(data[:_PLACE].tobytes(), "little")
    at = _PLACE + _padded(size)
    for number, rank, block, level, position, shape, extent in json.loads(data[_PLACE:_PLACE + size].tobytes()):
        variable = model.variables[number]
        count = int(np.prod(shape, dtype="i8")) * variable.dtype.itemsize
        values = data[at:at + count].view(variable.dtype).reshape(shape)
        values.setflags(write=False)
        at += _padded(count)
        blocks.setdefault(variable.name, []).append(
            Block(rank, block, tuple(shape), None if position is None else tuple(position), ((0, 0),) * len(shape), values, level))
        extents.setdefault(variable.name, extent)


class Meeting:
    """Of all servers over one iteration. ask(what, data): {server: bytes}. known: {digest: bytes} of what does not vary in time, which
    outlives the meeting. memory: bytes that the process of a script may have."""

    def __init__(self, iteration, variables, ask, servers, server, known, memory):
        self._iteration, self._ask, self._known, self._memory = iteration, ask, known, memory
        self._servers, self._server = servers, server
        drawn = [variable for variable in variables if not why_not(variable)]
        self._constant = Section(iteration, [v for v in drawn if not v.time_varying])
        self._varying = Section(iteration, [v for v in drawn if v.time_varying])
        self._digest = self._constant.digest() if self._constant.size else ""
        self._is_over = False
        self._said = self._words("meet", {"varying": self._varying.size, "constant": self._constant.size, "digest": self._digest,
                                          "known": list(known)})
        self.first = min(self._said)
        self.missing, self.given = [], []  # other servers: that gave nothing, and that did
        self.came = 0                      # bytes of these

    @property
    def is_without_this(self):
        """The others have not waited for this server: there is nothing left to do for it."""
        return self._server not in self._said

    @property
    def is_first(self):
        return self.first == self._server

    def lend(self):
        """On another server than the first one: gives what that wants, and forgets what it gets."""
        told = self._words("wanted", "").get(self.first)
        if told:
            self._exchange(lambda server, at, part: None)

    def decline(self):
        """On the first server, where it has not asked for the whole."""
        if not self._is_over:
            self._is_over = True
            self._words("wanted", False)

    def expect_room(self):
        """On the first server: TooMuch where there is no memory for the whole."""
        need = _COPIES * sum(each["varying"] + each["constant"] for each in self._said.values())
        if need > self._memory:
            raise TooMuch(f"what all {len(self._said)} servers have takes {need >> 20} MiB on the first one, and the process of a script "
                          f'may have {self._memory >> 20} MiB: name what is drawn in variables="...", let the servers select a part of it, '
                          'or give <scripts memory="...">')

    def whole(self):
        """On the first server: the WholeIteration."""
        self._is_over = True
        self._words("wanted", True)
        sizes = self._sizes()
        data = {server: np.empty(size, "u1") for server, size in sizes.items()}

        def take(server, at, part):
            if server != self._server:
                data[server][at:at + len(part)] = part
        given = self._exchange(take)
        self.missing = [server for server in range(self._servers) if server not in given]
        self.given = sorted(given - {self._server})
        self.came = sum(sizes[server] for server in self.given)
        return self._together({server: data[server] for server in self.given})

    def _sizes(self):
        """{server: bytes that it sends}: the first one none, and what that knows is not sent again."""
        known = set(self._said[self.first]["known"])
        return {server: 0 if server == self.first else
                each["varying"] + (0 if each["digest"] in known else each["constant"]) for server, each in self._said.items()}

    def _exchange(self, take):
        """take(server, at, part): bytes of a server. Returns those servers that gave all of theirs."""
        sizes = self._sizes()
        step = max(_PLACE, min(_AT_A_TIME, _IN_ROUND // self._servers))
        stream = _in_steps(self._parts(sizes[self._server]), step)
        given = set(self._said)
        for at in range(0, max(sizes.values()), step):
            came = self._ask("part", bytes(next(stream, b"")))
            given &= {server for server, part in came.items() if len(part) == max(0, min(step, sizes.get(server, 0) - at))}
            for server in given & came.keys():
                take(server, at, np.frombuffer(came[server], "u1"))
        return given

    def _parts(self, size):
        if not size:
            return
        if size > self._varying.size:
            yield from self._constant.parts()
        yield from self._varying.parts()

    def _together(self, data):
        blocks, extents = {}, {}
        for section in (self._constant, self._varying):
            for variable, block in section.blocks:
                blocks.setdefault(variable.name, []).append(block)
                extents.setdefault(variable.name, _extent(self._iteration, variable))
        known = {}
        for server, came in data.items():
            said = self._said[server]
            constant = came[:len(came) - said["varying"]]
            if said["digest"]:
                known[said["digest"]] = self._known[said["digest"]] if not len(constant) else constant.copy()
                read_section(known[said["digest"]], self._iteration.model, blocks, extents)
            read_section(came[len(constant):], self._iteration.model, blocks, extents)
        self._known.clear()
        self._known.update(known)
        return WholeIteration(self._iteration, blocks, extents)

    def _words(self, what, words):
        """{server: what it said}"""
        return {server: json.loads(data) for server, data in self._ask(what, json.dumps(words).encode()).items()}


def _in_steps(parts, step):
    """The same bytes, `step` at a time."""
    waiting, size = [], 0
    for part in parts:
        at = 0
        while size + len(part) - at >= step:
            waiting.append(part[at:at + step - size])
            at += step - size
            yield np.concatenate(waiting)
            waiting, size = [], 0
        waiting.append(part[at:])
        size += len(part) - at
    if size:
        yield np.concatenate(waiting)


def _extent(iteration, variable):
    return iteration.global_extent(variable.name) if variable.has_global else None


def _plain(numbers):
    return None if numbers is None else [int(number) for number in numbers]


def _padded(size):
    return size + -size % _PLACE
