# SPDX-License-Identifier: Apache-2.0
"""A callback of an analysis, with the windows of arrays that it is called with: due and called as deisa-dask does."""
import collections

from deisa.core import DeisaArray, Window


def log_exception(error):
    """What is done with an exception of a callback that has no handler."""
    import sys

    from ..scripting.script import describe
    print(f"Deisa: a callback failed: {describe(error)[0]}", file=sys.stderr)


class Callback:
    """wanted: names, or Windows. when: "AND": called where all of them are in one iteration; "OR": called for each of them that comes, as
    soon as each has been there."""

    def __init__(self, function, wanted, exception_handler, when):
        if not wanted or not all(isinstance(each, (str, Window)) for each in wanted):
            raise TypeError(f"register{wanted!r}: names of arrays are expected, or Window(name, size)")
        if when not in ("AND", "OR"):
            raise ValueError(f'register(..., when={when!r}): "AND" or "OR" is expected')
        self.function, self.handler, self.when = function, exception_handler, when
        self.windows = {}  # {name: deque of DeisaArray}, in the order of the arguments
        for each in wanted:
            name, size = (each, 1) if isinstance(each, str) else each
            self.windows[name] = collections.deque(maxlen=size)

    def take(self, name, whole):
        """An array of an iteration; one that outlives it is a copy of it."""
        array = (whole.kept if self._outlives(name) else whole.array)(name).data
        self.windows[name].append(_with_timestep(array, whole.number))

    def forget(self, lasting=True):
        """The arrays that it has; lasting=False: those that end with their iteration."""
        for name, window in self.windows.items():
            if lasting or not self._outlives(name):
                window.clear()

    def remembers(self):
        return any(self.windows.values())

    def _outlives(self, name):
        """It is called with this array in later iterations too."""
        return self.windows[name].maxlen > 1 or (self.when == "OR" and len(self.windows) > 1)

    def is_due(self, number):
        newest = [window[-1].timestep if window else None for window in self.windows.values()]
        return None not in newest and (self.when == "OR" or set(newest) == {number})

    def call(self):
        """False: also its handler of exceptions has failed."""
        try:
            self.function(*map(list, self.windows.values()))
        except Exception as error:
            try:
                self.handler(error)
            except BaseException:
                return False
        return True


def _with_timestep(array, number):
    return DeisaArray(t=number, dask=array.dask, name=array.name, chunks=array.chunks, dtype=array.dtype, meta=array._meta,
                      shape=array.shape)
