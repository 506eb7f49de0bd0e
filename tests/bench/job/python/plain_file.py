# SPDX-License-Identifier: Apache-2.0
"""A file of iterations of one size, one behind the other, as ../plain_file.hpp."""

import os


class PlainFile:
    def __init__(self, path, bytes_, durable):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._bytes, self._durable = bytes_, durable

    def write(self, iteration, data):
        if os.pwrite(self._file, data, iteration * self._bytes) != self._bytes:
            raise OSError("pwrite wrote less than it should")
        if self._durable:
            os.fdatasync(self._file)
