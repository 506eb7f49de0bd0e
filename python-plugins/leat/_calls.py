# SPDX-License-Identifier: Apache-2.0
"""The verbs of leat.client that take no more than a translation of their arguments.

Made by client-api/api/generate_calls.py of calls.def: change that."""
from . import _core
from .errors import check as _check

__all__ = ("finalize", "commit", "set_extent", "set_position", "set_level", "restart_step", "end_iteration", "start_at",
           "begin_iteration", "count", "signal", "after_collective", "set_int", "set_ints", "set_double", "set_doubles",
           "set_string")


def finalize():
    """Waits until everything of this node is stored; an error, LOST, when something could not be."""
    _check(_core.finalize())


def commit(variable, block=0):
    """Hands the memory of alloc over. It must not be used afterwards."""
    _check(_core.commit(variable, block))


def set_extent(variable, extent, block=0):
    """Extents of a block with "?" dimensions from now on, ghosts included; write takes them from its array by itself."""
    _check(_core.set_extent(variable, block, [int(n) for n in extent]))


def set_position(variable, position, block=0):
    """Where a block lies in the global array from now on: the index of its first cell that is no ghost."""
    _check(_core.set_position(variable, block, [int(n) for n in position]))


def set_level(mesh, level, position, block=0):
    """Which level of an amr mesh a block is of from now on, for all variables on the mesh, and where: the index of its first cell that is
    no ghost among the cells of that level. Level 0 is the coarsest."""
    _check(_core.set_level(mesh, block, int(level), [int(n) for n in position]))


def restart_step():
    """The iteration with which the run goes on behind its newest whole checkpoint, and goes there; 0 when there is none. Before the first
    write."""
    status, value = _core.restart_step()
    _check(status)
    return value


def end_iteration():
    """Ends the current iteration on this rank. The next one begins even if this call returns an error."""
    _check(_core.end_iteration())


def start_at(iteration):
    """The first iteration of this rank has this number: for a code that goes on from a restart file of its own."""
    _check(_core.start_at(int(iteration)))


def begin_iteration(iteration):
    """The iteration that begins now has this number, the step of the code itself: files, scripts and log have it. Optional; before anything
    of it is written."""
    _check(_core.begin_iteration(int(iteration)))


def count(variable):
    """How many blocks of a variable this rank has handed over in its current iteration; one that was written again counts once."""
    status, value = _core.count(variable)
    _check(status)
    return value


def signal(event):
    """Signals an <event> of the XML in this rank's current iteration."""
    _check(_core.signal(event))


def after_collective(ranks=0):
    """This rank has come out of a collective of so many ranks, 0 for all of the run, that none leaves before all have entered it: plugins
    with runs="coordinated" start there. libleat_pmpi makes the call by itself."""
    _check(_core.after_collective(int(ranks)))


def set_int(parameter, value):
    """Gives an integer parameter its value for this rank."""
    _check(_core.set_int(parameter, int(value)))


def set_ints(parameters, values):
    """Gives several integer parameters, "nx,ny,i0", their values for this rank."""
    _check(_core.set_ints(parameters, [int(n) for n in values]))


def set_double(parameter, value):
    """Gives a floating-point parameter its value for this rank."""
    _check(_core.set_double(parameter, float(value)))


def set_doubles(parameters, values):
    """Gives several floating-point parameters, "x0,dx,lz", their values for this rank."""
    _check(_core.set_doubles(parameters, [float(x) for x in values]))


def set_string(parameter, value):
    """Gives a text parameter its value for this rank."""
    _check(_core.set_string(parameter, str(value)))
