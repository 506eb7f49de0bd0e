# SPDX-License-Identifier: Apache-2.0
"""Leat in a Python simulation.

    import leat
    leat.init("heat.xml")                  # or leat.init("heat.xml", comm=MPI.COMM_WORLD)
    leat.write("temperature", T)           # any NumPy array, slice or view; copied before the call returns
    leat.end_iteration()
    leat.finalize()

Names are those of the XML. Type, number of dimensions and extents are checked against it. Calls are thread safe and let the
interpreter's lock go while they copy or wait. Errors raise leat.Error, whose `status` is the name of the C status. With
LEAT=off in the environment every call does nothing, and `alloc` returns a private array where it can.
"""
import atexit
import contextlib
import os

import numpy as _np

from . import _calls, _core
from ._calls import *  # noqa: F403 - the verbs that are made of the table of calls
from .errors import Error, last_error, status_name
from .errors import check as _check

__all__ = ["Error", "init", "split", "write", "write_all", "write_any", "read", "read_all", "alloc", "idle", "iteration", "set",
           "get_int", "get_double", "get_string", "wanted", "last_error", "status_name", *_calls.__all__]


def init(config, comm=None):
    """Connects to the node's server. comm: an mpi4py communicator of the ranks that are the simulation; collective then, and an error is
    the same on all of them."""
    if comm is None:
        _check(_core.init(os.fspath(config)))
        return
    from mpi4py import MPI
    is_null = comm == MPI.COMM_NULL
    calls = _Group(comm)
    _check(_core.init_group(os.fspath(config), 0 if is_null else comm.rank, 0 if is_null else comm.size, calls.arrive, calls.broadcast,
                            calls.least, calls.node))


def split(config, comm):
    """The communicator of the ranks that compute, which init() gets. comm: an mpi4py communicator; collective, before init().

    With place="ranks" in the XML the last ranks of each node become its servers: they come back when the run is over, with
    None, and end then. In other places, and with LEAT=off, it is `comm` itself.
    """
    from mpi4py import MPI
    calls = _Group(comm)
    status, divided = _core.split_group(os.fspath(config), comm.rank, comm.size, calls.arrive, calls.broadcast, calls.least,
                                        calls.node, calls.divide)
    if _check(status) == _core.SERVED:
        return None
    if divided:  # whichever comes first: MPI.Finalize(), or the end of Python
        key = MPI.Comm.Create_keyval(delete_fn=lambda *_: _core.split_end())
        MPI.COMM_SELF.Set_attr(key, True)
        atexit.register(_core.split_end)
    return calls.part


class _Group:
    """leat_group of leat.h, by mpi4py."""

    def __init__(self, comm):
        self.comm = self.part = comm
        self.request = None

    def arrive(self, begin):
        if begin:
            self.request = self.part.Ibarrier()
        return int(self.request.Test())

    def broadcast(self, data, root):
        self.comm.Bcast(data, root=root)

    def least(self, value):
        from mpi4py import MPI
        return self.comm.allreduce(value, op=MPI.MIN)

    def node(self):
        from mpi4py import MPI
        node = self.comm.Split_type(MPI.COMM_TYPE_SHARED, key=_core.memory_node())
        place = (node.rank, node.size)
        node.Free()
        return place

    def divide(self, server):
        self.part = self.comm.Split(server)
        return self.part.rank, self.part.size


def write(variable, data, block=0):
    """Hands over an array: anything with the buffer protocol, in any order and with any strides, or a number."""
    array = data if isinstance(data, _np.ndarray) else _np.asarray(data)
    _check(_core.write(variable, array, block, str(array.dtype)))


def write_all(variables, *arrays):
    """Hands over several arrays, as write_all("u,v,w", u, v, w): all of them, whatever becomes of one; the first error is raised."""
    arrays = [_np.asarray(each) for each in arrays]
    _check(_core.with_arrays(True, variables, arrays, [str(each.dtype) for each in arrays]))


def write_any(name, data):
    """Hands over an array under any name. One that the XML declares is written as by write(); what becomes of others, undeclared="..." of
    <data> says. True when it is stored; False when the XML says that it is not."""
    array = data if isinstance(data, _np.ndarray) else _np.asarray(data)
    return _check(_core.write_any(name, array, str(array.dtype))) != _core.UNWANTED


def read(variable, array, block=0):
    """Fills a NumPy array, any slice or view of one, with what the checkpoint has of it: after restart_step(), with any number of ranks.
    False with LEAT=off: it stays as it is."""
    return _check(_core.read(variable, array, block, str(array.dtype))) != _core.UNWANTED


def read_all(variables, *arrays):
    """Fills several NumPy arrays, as read_all("u,v,w", u, v, w): each as read() does, which says what False is."""
    return _check(_core.with_arrays(False, variables, arrays, [str(each.dtype) for each in arrays])) != _core.UNWANTED


def alloc(variable, block=0):
    """An uninitialised NumPy array in the segment, of the declared type and shape; None with LEAT=off, and in an
    iteration that is left out (when-full="drop-iteration"). It must not be used after commit(): another rank may have that memory then."""
    status, array = _core.alloc(variable, block)
    _check(status)
    return array


@contextlib.contextmanager
def idle(site):
    """`with leat.idle("exchange"):` this rank's cores have nothing to do inside: plugins with runs="harvest" work meanwhile. `site`:
    where in the code, from which it is learned how long such phases are."""
    _check(_core.idle_begin(site))
    try:
        yield
    finally:
        _check(_core.idle_end())


def iteration():
    """Number of the current iteration, from 0; -1 when not initialised."""
    return _core.iteration()


def set(parameter, value):  # noqa: A001 - the verb's name
    """set_int, set_double or set_string, after the type of the value."""
    if isinstance(value, str):
        _calls.set_string(parameter, value)
    elif isinstance(value, (float, _np.floating)):
        _calls.set_double(parameter, value)
    else:
        _calls.set_int(parameter, value)


def wanted(variable):
    """True when some store takes the variable in the current iteration."""
    return _check(_core.wanted(variable)) == 0


def _given(answer, default):
    status, value = answer
    _check(status)
    return default if value is None else value


def get_int(parameter, default=None):
    """The value of an integer parameter in this rank's current iteration, steered or not; `default` with LEAT=off."""
    return _given(_core.get_int(parameter), default)


def get_double(parameter, default=None):
    """The value of a floating-point or integer parameter in this rank's current iteration, steered or not; `default` with LEAT=off."""
    return _given(_core.get_double(parameter), default)


def get_string(parameter, default=None):
    """The value of a text parameter in this rank's current iteration, steered or not; `default` with LEAT=off."""
    return _given(_core.get_string(parameter), default)
