# SPDX-License-Identifier: Apache-2.0
"""Pages that are given back as they are needed, as ../page_pool.hpp."""

import os


class PagePool:
    def __init__(self, path):
        self._file = None
        if path:
            self._file = os.open(path, os.O_RDWR)
            self._left = os.fstat(self._file).st_size
            os.unlink(path)

    def give_back(self, bytes_):
        if self._file is not None:
            self._left = max(0, self._left - bytes_)
            os.ftruncate(self._file, self._left)
