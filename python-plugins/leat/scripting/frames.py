# SPDX-License-Identifier: Apache-2.0
"""What leatd and a worker say to each other; server/workers/frames.hpp is the other side, and describes the bytes."""
import json
import re
import socket
import struct
import threading

SOCKET, CRASH_FILE, CONSTANTS, OUTPUTS = 3, 4, 5, 6  # descriptors of a process that leatd has started

_LENGTHS = struct.Struct("=QQ")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def encoded(head):
    """JSON that every parser reads. What no UTF-8 can say, as half of a character or a byte of a file's name, is written as \\udcff."""
    text = json.dumps(head, ensure_ascii=False, allow_nan=False)
    return _LONE_SURROGATE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text).encode()


class Channel:
    """One end. Threads may send at the same time; one receives."""

    def __init__(self, descriptor):
        self._socket = socket.socket(fileno=descriptor)
        self._sending = threading.Lock()

    def close(self):
        self._socket.close()

    def send(self, head, *data):
        text = encoded(head)
        parts = [memoryview(part).cast("B") for part in data if len(part)]
        start = _LENGTHS.pack(len(text), sum(len(part) for part in parts)) + text
        with self._sending:
            self._socket.sendall(start)
            for part in parts:
                self._socket.sendall(part)

    def receive(self):
        """The next (head, data), or None when the other side has ended."""
        lengths = self._receive(_LENGTHS.size)
        if lengths is None:
            return None
        head_bytes, data_bytes = _LENGTHS.unpack(lengths)
        head = self._receive(head_bytes)
        data = self._receive(data_bytes)
        return None if head is None or data is None else (json.loads(bytes(head)), data)

    def ask(self, head, *data, meanwhile=None):
        """(head, data) of what leatd answers to something that it answers. Raises why it cannot be had. meanwhile(): done before the
        answer is taken, and may raise nothing."""
        self.send(head, *data)
        if meanwhile:
            meanwhile()
        answer = self.receive()
        if answer is None:
            raise ConnectionError("leatd has ended")
        if why := answer[0]["why"]:
            raise (TimeoutError if answer[0]["late"] else RuntimeError)(why)
        return answer

    def _receive(self, count):
        buffer = bytearray(count)
        view = memoryview(buffer)
        while view:
            got = self._socket.recv_into(view)
            if got == 0:
                return None
            view = view[got:]
        return buffer
