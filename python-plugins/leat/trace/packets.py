# SPDX-License-Identifier: Apache-2.0
"""Reads what servers write as traces, see server/state/trace/perfetto.cpp, which names the messages: nothing else of Perfetto's format,
and nothing but Python."""
from dataclasses import dataclass, field

_PACKET_TAG = 1 << 3 | 2
# What `leat trace -o` writes begins with it: a packet of this sequence alone, which says nothing.
JOINED = bytes([_PACKET_TAG, 6, 10 << 3, 0xCC, 0x8A, 0x85, 0xA2, 0x05])
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4  # TrackEvent.Type


@dataclass
class Slice:
    begun: int  # ns since 1970
    ended: int
    name: str
    depth: int
    iteration: int = -1
    bytes: int = 0
    arrows: tuple = ()
    is_open: bool = False  # its end is not in the file


@dataclass
class Track:
    name: str
    place: int
    unit: int = 0  # of a counter: 2 a count, 3 bytes
    slices: list = field(default_factory=list)
    moments: list = field(default_factory=list)  # (time, name)
    numbers: list = field(default_factory=list)  # (time, value)


@dataclass
class Node:
    """What one server wrote, and those that went on after it."""
    title: str
    run: str
    tracks: list = field(default_factory=list)


def whole(data):
    """How many bytes of it are whole packets, from the start."""
    at = 0
    while at < len(data) and data[at] == _PACKET_TAG:
        size, begin = _varint(data, at + 1)
        if begin is None or size == 0 or begin + size > len(data):
            break
        at = begin + size
    return at


def nodes_of(data):
    """The nodes whose traces are in these bytes, each with its tracks in order; what is no trace is passed over."""
    tracks, parents, events, names = {}, {}, [], {}
    at, end = 0, whole(data)
    while at < end:
        size, begin = _varint(data, at + 1)
        at = begin + size
        _read_packet(_fields(data[begin:at]), tracks, parents, events, names)
    nodes = {}
    for uuid, found in tracks.items():
        if uuid not in parents:
            nodes[uuid] = found
        elif parents[uuid] in nodes:
            nodes[parents[uuid]].tracks.append(found)
    _sort_events(tracks, events)
    for node in nodes.values():
        node.tracks.sort(key=lambda track: (track.place, track.name))
    return sorted(nodes.values(), key=lambda node: node.title)


def _varint(data, at):
    """(value, where it ends); None at the end of the data."""
    if at < len(data) and data[at] < 0x80:  # most of them
        return data[at], at + 1
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return 0, None


def _fields(data):
    """[(number, value)] of a message: numbers, and bytes of texts and messages."""
    found, at = [], 0
    while at < len(data):
        tag, at = _varint(data, at)
        if at is None:
            break
        kind = tag & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif kind == 2:
            size, at = _varint(data, at)
            value, at = (data[at:at + size], at + size) if at is not None else (b"", None)
        else:
            break
        if at is None:
            break
        found.append((tag >> 3, value))
    return found


def _read_packet(fields, tracks, parents, events, names):
    packet = dict(fields)
    sequence = packet.get(10, 0)
    for number, value in _fields(packet[12]) if 12 in packet else ():  # InternedData
        if number == 2:  # EventName
            name = dict(_fields(value))
            names[sequence, name.get(1)] = _text(name.get(2, b""))
    if 60 in packet:
        _read_track(dict(_fields(packet[60])), tracks, parents)
    if 11 in packet:
        events.append((packet.get(8, 0), len(events), *_event(_fields(packet[11]), sequence, names)))


def _read_track(track, tracks, parents):
    uuid, name = track.get(1, 0), _text(track.get(2, b""))
    if uuid in tracks:
        return  # of the server before
    if 5 in track:
        parents[uuid] = track[5]
        tracks[uuid] = Track(name, track.get(12, 0), dict(_fields(track[8])).get(3, 0) if 8 in track else 0)
    else:
        tracks[uuid] = Node(name, _text(track.get(14, b"")))


def _event(fields, sequence, names):
    event = dict(fields)
    annotations = [dict(_fields(value)) for number, value in fields if number == 4]
    facts = {each.get(1): each.get(4, 0) for each in annotations}
    name = _text(event[23]) if 23 in event else names.get((sequence, event.get(10)), "")
    arrows = tuple(value for number, value in fields if number == 47)
    return event.get(11), event.get(9), name, facts.get(1, -1), facts.get(2, 0), event.get(30, 0), arrows


def _sort_events(tracks, events):
    """Begins and ends of each track to slices, in the order of time."""
    open_slices, last = {}, 0
    for time, _, uuid, kind, name, iteration, size, value, arrows in sorted(events, key=lambda event: event[:2]):
        track, last = tracks.get(uuid), max(last, time)
        if not isinstance(track, Track):
            continue
        stack = open_slices.setdefault(uuid, [])
        if kind == _BEGIN:
            stack.append(Slice(time, time, name, len(stack), iteration, size, arrows, True))
            track.slices.append(stack[-1])
        elif kind == _END and stack:
            ended = stack.pop()
            ended.ended, ended.is_open = time, False
        elif kind == _INSTANT:
            track.moments.append((time, name))
        elif kind == _COUNTER:
            track.numbers.append((time, value))
    for stack in open_slices.values():
        for each in stack:
            each.ended = last


def _text(data):
    return data.decode("utf-8", "replace")


def arrows_of(nodes):
    """[(track and slice of a rank, track and slice of a store)]: from each event to the next one with the same number."""
    by_number = {}
    for node in nodes:
        for track in node.tracks:
            for each in track.slices:
                for number in each.arrows:
                    by_number.setdefault(number, []).append((track, each))
    pairs = []
    for found in by_number.values():
        found.sort(key=lambda end: end[1].begun)
        pairs += zip(found, found[1:])
    return pairs
