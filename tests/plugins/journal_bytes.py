# SPDX-License-Identifier: Apache-2.0
"""Heads of records of a journal (server/plugins/hdf5/disk/journal.cpp), changed as if they had been written so."""
MAGIC, HEAD = b"LEATJRN5", 96
STATE, INODE, BYTES = slice(8, 56), slice(64, 72), slice(72, 80)


def crc32c(data):
    """In 8 bytes."""
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ 0x82F63B78 * (state & 1)
    return (state ^ 0xFFFFFFFF).to_bytes(8, "little")


def is_whole(head):
    return crc32c(head[8:56]) == head[56:64] and crc32c(head[:8] + head[64:88]) == head[88:96]


def with_inode(head, inode):
    head = head[:64] + inode.to_bytes(8, "little") + head[72:]
    return head[:88] + crc32c(head[:8] + head[64:88])


def of_another_boot(head):
    state = head[8:56].replace(b"-", b"+")
    return head[:8] + state + crc32c(state) + head[64:]


def length_of(journal):
    """Of its first record."""
    return HEAD + int.from_bytes(journal[BYTES], "little")
