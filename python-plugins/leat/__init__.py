# SPDX-License-Identifier: Apache-2.0
"""Leat in Python: a simulation that writes, and scripts that analyse.

A simulation:

    import leat
    leat.init("heat.xml")                  # or leat.init("heat.xml", comm=MPI.COMM_WORLD)
    leat.write("temperature", T)           # any NumPy array, slice or view; copied before the call returns
    leat.end_iteration()
    leat.finalize()

A script, in a folder that <scripts> of the XML names:

    import leat
    @leat.on_iteration(variables=["temperature"], every=10)
    def hottest(ds, ctx):                  # an xarray.Dataset, and what the script can do
        ctx.scalar("t_max", float(ds.temperature.max()))

What a run has stored, while it goes on and afterwards:

    run = leat.open("heat.h5")
    run[20]["temperature"]                 # iteration 20: a NumPy array; of what has no global shape {rank: array}
    run["temperature"]                     # over all iterations: an xarray.DataArray

Scripts need NumPy only. The verbs of a simulation need the compiled part, which pip builds; it is loaded at the first use
of one. help(leat.client) describes the verbs, help(leat.Context) what a script can do, help(leat.open) how to read.
"""
from importlib import import_module as _import
from importlib.util import find_spec as _find

# Where things are; loaded at first use, since scripts may run where the compiled part is not, or NumPy is missing.
_PARTS = {"on_iteration": ".scripting.declare", "on_event": ".scripting.declare", "ExpiredError": ".scripting.views",
          "Context": ".scripting.context", "open": ".reader", "CannotRead": ".files.reading"}
_BY_HAND = ("Error", "init", "split", "write", "write_all", "write_any", "read", "read_all", "alloc", "idle", "iteration", "set",
            "get_int", "get_double", "get_string", "wanted", "last_error", "status_name")
# By client-api/api/generate_calls.py, of calls.def.
_MADE = ("finalize", "commit", "set_extent", "set_position", "set_level", "restart_step", "end_iteration", "start_at",
         "begin_iteration", "count", "signal", "after_collective", "set_int", "set_ints", "set_double", "set_doubles",
         "set_string")
_VERBS = (*_BY_HAND, *_MADE)
_ROOMS = ("amr", "control", "graph", "module", "reader")
# Not open: `from leat import *` must not take Python's own away.
__all__ = [name for name in (*_PARTS, *_VERBS) if name != "open"]


def __dir__():
    """What can be had in this Python: help() gets all of it."""
    verbs = (*_VERBS, "client") if _find("leat._core") else ()
    rooms = (name for name in _ROOMS if name != "amr" or _find("xarray"))
    public = {*_PARTS, *rooms, *verbs} if _find("numpy") else set()
    return sorted(public | {name for name in globals() if name.startswith("__")})


def __getattr__(name):
    if name in _PARTS:
        return getattr(_import(_PARTS[name], __name__), name)
    if name in _ROOMS:
        return _import(f".{name}", __name__)
    if name not in _VERBS and name != "client":
        raise AttributeError(f"module leat has no attribute {name!r}")
    try:
        client = _import(".client", __name__)
    except ImportError as error:
        if "_core" not in str(error):
            raise
        raise ImportError("this is the part of Leat for scripts. For a simulation in Python install the whole package: "
                          "pip install .../python-plugins") from error
    return client if name == "client" else getattr(client, name)
